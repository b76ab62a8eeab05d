package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/durable"
	"minutebook/internal/guard"
)

const (
	// generationLimit is how long a download is awaited. After that it counts as
	// failed and is requested again later.
	generationLimit = 6 * time.Hour
	classDownload   = "download"
	// largestRecording is the largest size in bytes that is believed.
	largestRecording = 1 << 42
)

// advance takes a recording as far as it goes now: onto the disk, or back into
// the queue. It returns an error only if this machine fails (see isLocal), if the
// recording is left for the next run (errLater), or if ctx ended. A forgotten meeting
// ends it without an error.
func (l *downloader) advance(ctx context.Context, t *downloadTask) error {
	for first := true; ctx.Err() == nil; first = false {
		if t.row.State == archive.DownloadWanted && !first {
			return nil // it waits for its turn again
		}
		more := true
		err := guard.Run(l.s.log, "fetch of a recording", func() (err error) {
			more, err = l.advanceState(ctx, t)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && !more:
			return nil
		case err == nil, errors.Is(err, errLeft): // the next account of the name, or another one, goes on
			continue
		case !errors.Is(err, archive.ErrForgotten) && !errors.Is(err, errLater) && !isLocal(err):
			err = l.requeueFailed(ctx, t, err)
		}
		if errors.Is(err, archive.ErrForgotten) {
			l.dropPartial(t)
			return nil
		}
		return err // or the recording stays as it is
	}
	return ctx.Err()
}

// dropPartial deletes the partial file of a recording that nobody wants any more.
func (l *downloader) dropPartial(t *downloadTask) {
	if err := durable.Remove(l.partialPath(t)); err != nil {
		l.s.log.Warn().Int64("recording_id", t.row.RecordingID).Err(err).Msg("delete the part of a recording that nobody wants any more")
	}
}

// advanceState does the work of the recording's present state; more is false in
// a final state.
func (l *downloader) advanceState(ctx context.Context, t *downloadTask) (more bool, err error) {
	switch t.row.State {
	case archive.DownloadWanted:
		return true, l.request(ctx, t)
	case archive.DownloadRequested:
		return true, l.awaitGeneration(ctx, t)
	case archive.DownloadReady:
		return true, l.fetch(ctx, t)
	}
	return false, nil
}

// applyStatus updates the row by the status that the service gave of the
// download.
func (l *downloader) applyStatus(ctx context.Context, t *downloadTask, d *api.Download) error {
	row, now := t.row, l.s.now()
	switch d.Status {
	case api.DownloadCompleted:
		file, video, ok := d.File()
		if !ok {
			return errors.New("read download: it is completed and has no file")
		}
		if err := checkSize(file.FileSizeBytes); err != nil {
			return err
		}
		expires := linkExpiry(file.ExpiresAt.Time, d.Date, now)
		if row.State != archive.DownloadReady {
			l.pace.recordGeneration(file.FileSizeBytes, t.generationTime(now), expires.Sub(now))
		}
		row.State, row.Kind = archive.DownloadReady, archive.MediaAudio
		if video {
			row.Kind = archive.MediaVideo
		}
		row.ContentType, row.Size, row.ExpiresAt = file.ContentType, file.FileSizeBytes, expires
		t.url = file.URL
		return l.saveRow(ctx, t, row)
	case api.DownloadFailed:
		return fmt.Errorf("generate recording: %s", d.FailureReason.Or("no reason is given"))
	case api.DownloadExpired:
		return l.requeueLapsed(ctx, t, "the download expired")
	}
	row.State, t.lastPoll = archive.DownloadRequested, now
	return l.saveRow(ctx, t, row)
}

// linkExpiry returns when a link expires by this machine's clock, which may be wrong, zero where
// only the media host knows. The service says when by its own clock, and answered at date.
func linkExpiry(expires, date, now time.Time) time.Time {
	switch {
	case expires.IsZero():
		return time.Time{}
	case !date.IsZero():
		return now.Add(expires.Sub(date))
	case expires.Before(now.Add(expiryMargin)): // one of the clocks is wrong
		return time.Time{}
	}
	return expires
}

// checkSize fails on a size that no recording has.
func checkSize(bytes int64) error {
	if bytes <= 0 || bytes > largestRecording {
		return fmt.Errorf("read download: no recording has %d bytes", bytes)
	}
	return nil
}

// generationTime estimates how long the service took for a download that is
// completed at now. A callback tells the end. Otherwise the end lies between
// the last poll and this one; their middle is taken, since the later one would
// delay the first poll of the next downloads.
func (t *downloadTask) generationTime(now time.Time) time.Duration {
	elapsed := now.Sub(t.row.RequestedAt)
	if t.wasAnnounced {
		return elapsed
	}
	before := min(max(t.lastPoll.Sub(t.row.RequestedAt), 0), elapsed)
	return before + (elapsed-before)/2
}
