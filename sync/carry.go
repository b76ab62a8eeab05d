package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
func patience(failures int) time.Duration {
	steps := [...]time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour}
	return steps[min(max(failures, 1), len(steps))-1]
}

// carry takes a recording from where it stands as far as it goes now: to the
// disk, or back to the queue. It returns an error only when the queue itself
// cannot be written or ctx ended. A meeting that was forgotten ends it.
func (l *loader) carry(ctx context.Context, t *task) error {
	for first := true; ctx.Err() == nil; first = false {
		if t.row.State == archive.DownloadWanted && !first {
			return nil // it waits for its turn again
		}
		more := true
		err := l.s.guard("fetch of a recording", func() (err error) {
			more, err = l.step(ctx, t)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !more || errors.Is(err, archive.ErrForgotten) {
			return nil
		}
		var room *diskError
		if errors.As(err, &room) || errors.Is(err, errLater) {
			return err // it stays as it is
		}
		if err != nil {
			return l.failed(ctx, t, err)
		}
	}
	return ctx.Err()
}

// step takes a recording on by one state; more is false where there is none.
func (l *loader) step(ctx context.Context, t *task) (more bool, err error) {
	switch t.row.State {
	case archive.DownloadWanted:
		return true, l.request(ctx, t)
	case archive.DownloadRequested:
		return true, l.await(ctx, t)
	case archive.DownloadReady:
		return true, l.fetch(ctx, t)
	}
	return false, nil
}

// failed puts a recording back into the queue after an error and notes it.
func (l *loader) failed(ctx context.Context, t *task, cause error) error {
	row := t.row
	now := l.s.now()
	if errors.Is(cause, errParked) {
		row.State, row.Account, row.Due = archive.DownloadWanted, "", now.Add(retryParked)
		return l.save(ctx, t, row)
	}
	row.Failures++
	row.Reason = cause.Error()
	row.Due = now.Add(patience(row.Failures))
	row.State = archive.DownloadWanted
	l.s.log.Warn().Int64("recording_id", row.RecordingID).Str("account", row.Account).Int("failures", row.Failures).
		Err(cause).Msg("recording not fetched")
	return errors.Join(l.save(ctx, t, row), l.s.archive.RecordFailure(context.WithoutCancel(ctx), archive.Failure{
		Account: row.Account, Class: classDownload, What: strconv.FormatInt(row.RecordingID, 10),
		RecordingID: row.RecordingID, Reason: row.Reason, NextTry: row.Due}))
}

// lapsed puts a recording whose link is no longer good back into the queue, to
// be requested afresh at once. What has been fetched of it stays.
func (l *loader) lapsed(ctx context.Context, t *task, why string) error {
	row := t.row
	row.State, row.Lapsed, row.Due, row.ExpiresAt, row.Reason = archive.DownloadWanted, row.Lapsed+1, l.s.now(), time.Time{}, why
	if row.Lapsed%3 == 0 { // a service whose links never work is not asked for ever
		row.Due = l.s.now().Add(patience(row.Lapsed / 3))
	}
	t.url = ""
	l.s.log.Info().Int64("recording_id", row.RecordingID).Str("reason", why).Msg("link lapsed: a fresh one is requested")
	return l.save(ctx, t, row)
}

// refused remembers that an account may not have a recording. Another one that
// sees the meeting is tried.
func (l *loader) refused(ctx context.Context, t *task, account string, cause error) error {
	row := t.row
	row.RefusedBy = append(slices.Clone(row.RefusedBy), account)
	row.State, row.Reason, row.Account, row.Due = archive.DownloadWanted, cause.Error(), "", l.s.now()
	return l.save(ctx, t, row)
}

// settle takes in what the service says of a download.
func (l *loader) settle(ctx context.Context, t *task, d *api.Download) error {
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
			l.pace.completed(file.FileSizeBytes, t.generation(now), file.ExpiresAt.Sub(now))
		}
		row.State, row.Kind = archive.DownloadReady, archive.MediaAudio
		if video {
			row.Kind = archive.MediaVideo
		}
		row.ContentType, row.Size, row.ExpiresAt = file.ContentType, file.FileSizeBytes, file.ExpiresAt.Time
		t.url = file.URL
		return l.save(ctx, t, row)
	case api.DownloadFailed:
		return fmt.Errorf("generate recording: %s", d.FailureReason.Or("no reason is given"))
	case api.DownloadExpired:
		return l.lapsed(ctx, t, "the download expired")
	}
	row.State, t.looked = archive.DownloadRequested, now
	return l.save(ctx, t, row)
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
func (t *task) generation(now time.Time) time.Duration {
	took := now.Sub(t.row.RequestedAt)
	if t.heard {
		return took
	}
	before := min(max(t.looked.Sub(t.row.RequestedAt), 0), took)
	return before + (took-before)/2
}
