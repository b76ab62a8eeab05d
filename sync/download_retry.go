package syncer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// retryDelay returns how long a recording waits after so many failures in a
// row. A file that the service could not generate seldom succeeds a moment
// later.
func retryDelay(failures int) time.Duration {
	steps := [...]time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour}
	return steps[min(max(failures, 1), len(steps))-1]
}

// isLocal reports whether an error is of this machine: no room, or a disk or database
// that fails. It tells nothing about a recording, which stays as it is and is tried
// again once the machine is well.
func isLocal(err error) bool {
	var room *lowDiskError
	var file *fs.PathError
	var rename *os.LinkError
	return errors.As(err, &room) || errors.As(err, &file) || errors.As(err, &rename) || sqlite.IsPassing(err)
}

// requeueFailed puts a recording back into the queue after an error and records
// the failure.
func (l *downloader) requeueFailed(ctx context.Context, t *downloadTask, cause error) error {
	row := t.row
	now := l.s.now()
	if errors.Is(cause, errSuspended) {
		due := now
		if row.Account == "" { // no other account may be asked either
			due = now.Add(suspensionRetry)
		}
		return l.postponeRow(ctx, t, row, due) // the account's suspension is reported, and not each recording
	}
	row.Failures++
	row.Reason = cause.Error()
	row.Due = now.Add(retryDelay(row.Failures))
	if errors.Is(cause, errUnfinished) { // each request takes the place of another recording for hours
		row.Due = now.Add(retryDelay(row.Failures + 2))
	}
	row.State = archive.DownloadWanted
	err := l.saveRow(ctx, t, row)
	if errors.Is(err, archive.ErrForgotten) {
		return err
	}
	l.s.log.Warn().Int64("recording_id", row.RecordingID).Str("account", row.Account).Int("failures", row.Failures).
		Err(cause).Msg("recording not fetched")
	return errors.Join(err, l.recordFailure(ctx, row, row.Reason, row.Due))
}

// recordFailure records why a recording is not here, and when it is asked for again, zero where
// that depends on the service.
func (l *downloader) recordFailure(ctx context.Context, row archive.Download, reason string, next time.Time) error {
	return l.s.archive.RecordFailure(context.WithoutCancel(ctx), archive.Failure{
		Account: row.Account, Class: classDownload, What: strconv.FormatInt(row.RecordingID, 10),
		RecordingID: row.RecordingID, Reason: reason, NextTry: next})
}

// nextRequest returns when a recording that the service does not have is asked for again, zero for
// never: its meeting is too old to get one still, or isGone. A meeting can be listed long before its
// recording exists, as before its transcript does. Its age counts from its creation or, where no list
// says that, from its end, its start, or the first showing of it here. The clock here and the
// service's may differ by weeks: the one by which the meeting is younger counts.
func (l *downloader) nextRequest(ctx context.Context, id int64) (due time.Time, isGone bool, err error) {
	row, err := l.s.archive.Row(ctx, id)
	if errors.Is(err, archive.ErrNotFound) {
		return time.Time{}, false, nil
	}
	if err != nil || row.Gone {
		return time.Time{}, err == nil, err
	}
	created := row.CreatedAt
	for _, at := range []time.Time{row.End, row.Key().Start} {
		if created.IsZero() && at.UnixMilli() > 0 {
			created = at
		}
	}
	if created.IsZero() {
		if created, err = l.s.archive.FirstShown(ctx, id); err != nil {
			return time.Time{}, false, err
		}
	}
	now := l.s.now()
	age := now.Sub(created).Abs() // one in the future may be as wrong as an old one
	if c := l.s.clock.Load(); c != nil {
		age = min(age, (now.Sub(created) - time.Duration(c.AheadSeconds*float64(time.Second))).Abs())
	}
	for _, after := range append(retryIntervals(), oldAfter) {
		if after > age {
			return now.Add(after - age), false, nil
		}
	}
	return time.Time{}, false, nil
}

// postponeRow leaves a recording in the queue until it is asked for again. That is no
// failure.
func (l *downloader) postponeRow(ctx context.Context, t *downloadTask, row archive.Download, due time.Time) error {
	row.State, row.Account, row.Due = archive.DownloadWanted, "", due
	return l.closeRow(ctx, t, row)
}

// requeueLapsed puts a recording whose link has expired back into the queue, to
// be requested again: at once, but later after every third lapse. The bytes fetched so
// far are kept.
func (l *downloader) requeueLapsed(ctx context.Context, t *downloadTask, why string) error {
	row := t.row
	row.State, row.Lapsed, row.Due, row.ExpiresAt, row.Reason = archive.DownloadWanted, row.Lapsed+1, l.s.now(), time.Time{}, why
	if row.Lapsed%3 == 0 { // a service whose links never work is asked ever less
		row.Due = l.s.now().Add(retryDelay(row.Lapsed / 3))
	}
	t.url = ""
	l.s.log.Info().Int64("recording_id", row.RecordingID).Str("reason", why).Msg("link expired; a new one is requested")
	return l.saveRow(ctx, t, row)
}

// releaseAccount puts a recording whose account is not configured any more back into the
// queue, to be requested by another account that sees the meeting. The bytes fetched so far
// are kept.
func (l *downloader) releaseAccount(ctx context.Context, t *downloadTask) error {
	row := t.row
	l.s.log.Info().Int64("recording_id", row.RecordingID).Str("account", row.Account).Msg("the account of a recording is not configured any more; another account is asked")
	row.State, row.Account, row.Due, row.ExpiresAt, row.Reason = archive.DownloadWanted, "", l.s.now(), time.Time{}, "its account is not configured any more"
	t.url = ""
	return l.saveRow(ctx, t, row)
}

// markRefused records that an account, which was asked after the log's position asked, may not
// have a recording. Another account that sees the meeting is tried next.
func (l *downloader) markRefused(ctx context.Context, t *downloadTask, account string, asked archive.Position, cause error) error {
	row := t.row
	row.State, row.Reason, row.Account, row.Due = archive.DownloadWanted, cause.Error(), "", l.s.now()
	return l.saveRowBy(ctx, t, row, func(ctx context.Context, row archive.Download) error {
		return l.s.archive.SaveRefusal(ctx, row, account, api.IsForbidden(cause), asked)
	})
}
