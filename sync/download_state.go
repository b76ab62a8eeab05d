package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

const (
	// generationLimit is how long a download is awaited before it is given up and
	// requested again, much later.
	generationLimit = 6 * time.Hour
	classDownload   = "download"
	// largestRecording is from which size on an announced size is taken for wrong.
	largestRecording = 1 << 42
)

// patience is how long a recording is left alone after so many failures in a
// row: what the service could not generate it seldom can a moment later.
// carry takes a recording from where it stands as far as it goes now: to the
// disk, or back to the queue. It returns an error only when the queue itself
// cannot be written or ctx ended. A meeting that was forgotten ends it.
func (l *downloader) advance(ctx context.Context, t *downloadTask) error {
	for first := true; ctx.Err() == nil; first = false {
		if t.row.State == archive.DownloadWanted && !first {
			return nil // it waits for its turn again
		}
		more := true
		err := l.s.guard("fetch of a recording", func() (err error) {
			more, err = l.advanceState(ctx, t)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !more || errors.Is(err, archive.ErrForgotten) {
			return nil
		}
		var room *lowDiskError
		if errors.As(err, &room) || errors.Is(err, errLater) {
			return err // it stays as it is
		}
		if err != nil {
			return l.requeueFailed(ctx, t, err)
		}
	}
	return ctx.Err()
}

// step takes a recording on by one state; more is false where there is none.
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

// failed puts a recording back into the queue after an error and notes it.
// lapsed puts a recording whose link is no longer good back into the queue, to
// be requested afresh at once. What has been fetched of it stays.
// refused remembers that an account may not have a recording. Another one that
// sees the meeting is tried.
// settle takes in what the service says of a download.
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
		if row.State != archive.DownloadReady {
			l.pace.recordGeneration(file.FileSizeBytes, t.generationTime(now), file.ExpiresAt.Sub(now))
		}
		row.State, row.Kind = archive.DownloadReady, archive.MediaAudio
		if video {
			row.Kind = archive.MediaVideo
		}
		row.ContentType, row.Size, row.ExpiresAt = file.ContentType, file.FileSizeBytes, file.ExpiresAt.Time
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

// checkSize refuses a size that no recording has.
func checkSize(bytes int64) error {
	if bytes <= 0 || bytes > largestRecording {
		return fmt.Errorf("read download: no recording has %d bytes", bytes)
	}
	return nil
}

// generation is how long a download that is completed at now took, as far as can
// be known: a callback tells it; otherwise it was completed at some time since the
// look before, and is taken to have been in the middle. Taken for the end, a late
// look would make the next ones as late.
func (t *downloadTask) generationTime(now time.Time) time.Duration {
	took := now.Sub(t.row.RequestedAt)
	if t.wasAnnounced {
		return took
	}
	before := min(max(t.lastPoll.Sub(t.row.RequestedAt), 0), took)
	return before + (took-before)/2
}
