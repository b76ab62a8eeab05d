package syncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/internal/outbound"
)

const (
	// lastMoment is how long before its expiry a link is taken for lapsed.
	expiryMargin = 5 * time.Second
	// hopeless is how many attempts without a byte end a fetch that somebody waits
	// for.
	maxIdleAttempts = 5
)

var (
	// errLater says that a recording stays as it is until the next run.
	errLater = errors.New("left for the next run")
	// errLink says that the link was not accepted.
	errLink = errors.New("the media host does not accept the link")
	// errContent says that what arrived is not what was announced.
	errContent = errors.New("the recording is not what was announced")
)

// fetch brings a recording that has a link to the disk. Interruptions are
// resumed for as long as the link is good.
func (l *downloader) fetch(ctx context.Context, t *downloadTask) error {
	a := l.s.account(t.row.Account)
	if a == nil {
		return l.requeueLapsed(ctx, t, "its account is not configured any more")
	}
	if done, err := l.finishIfAttached(ctx, t); done || err != nil {
		return err
	}
	if err := checkSize(t.row.Size); err != nil {
		return err
	}
	idle, wrong := 0, 0
	for wait := time.Second; ; wait = min(2*wait, 5*time.Minute) {
		if !l.s.now().Add(expiryMargin).Before(t.row.ExpiresAt) {
			return l.requeueLapsed(ctx, t, "the link expired")
		}
		before := t.row.Fetched
		err := l.fetchOnce(ctx, a, t)
		var room *lowDiskError
		switch {
		case err == nil, ctx.Err() != nil, errors.As(err, &room), errors.Is(err, archive.ErrForgotten):
			return err
		case errors.Is(err, outbound.ErrNotGlobal):
			return fmt.Errorf("%w; allow_private lets this account fetch from there", err)
		case errors.Is(err, errContent):
			if wrong++; wrong == 3 {
				return err
			}
		case errors.Is(err, errLink):
			return l.requeueLapsed(ctx, t, err.Error())
		case errors.Is(err, errSuspended), t.row.State != archive.DownloadReady:
			return err
		}
		if t.row.Fetched > before {
			idle, wait = 0, time.Second
		} else if idle++; t.waitedFor && idle >= maxIdleAttempts {
			return fmt.Errorf("%w: %w", errLater, err)
		}
		l.s.log.Info().Int64("recording_id", t.row.RecordingID).Int64("bytes", t.row.Fetched).Err(err).Msg("fetch interrupted: it goes on")
		sleep(ctx, wait)
	}
}

// attachedAlready closes the queue's row of a recording that was attached just
// before a crash.
func (l *downloader) finishIfAttached(ctx context.Context, t *downloadTask) (bool, error) {
	held, err := l.s.archive.MediaOf(ctx, t.row.RecordingID)
	if err != nil || len(held) == 0 {
		return false, err
	}
	return true, l.markDone(ctx, t)
}

// attempt fetches what is missing of a recording and, when it is whole, makes it
// the archive's: first the file, then what points to it, then the queue.
func (l *downloader) fetchOnce(ctx context.Context, a *account, t *downloadTask) error {
	release, err := l.fetchSlots.acquire(ctx, t.row.ExpiresAt)
	if err != nil {
		return err
	}
	defer release()
	if t.url == "" { // a link of an earlier process: it is asked for again
		d, err := l.poll(ctx, a, t)
		if err != nil || d == nil {
			return err
		}
		if err := l.applyStatus(ctx, t, d); err != nil || t.row.State != archive.DownloadReady {
			return err
		}
	}
	if err := l.s.checkDiskSpace(t.row.Size - t.row.Fetched); err != nil {
		return err
	}
	path := l.s.archive.PartialPath(strconv.FormatInt(t.row.RecordingID, 10))
	l.meter.begin(l.s.now())
	err = l.stream(ctx, a, t, path)
	l.pace.recordFetch(l.meter.end(l.s.now()))
	if err != nil {
		return err
	}
	return l.storeFile(ctx, t, path)
}

// keep moves a whole file into the store, checks that it holds the bytes that
// arrived, and attaches it. Its name there is noted first: forgetting the meeting
// finds it wherever this is interrupted.
func (l *downloader) storeFile(ctx context.Context, t *downloadTask, path string) error {
	row := t.row
	row.SHA256 = t.hasher.hex()
	if err := l.saveRow(ctx, t, row); err != nil {
		return err
	}
	blob, err := l.store.Import(ctx, path)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the file is where only what follows finds it
	if blob.SHA256 != row.SHA256 || blob.Size != row.Size {
		return errors.Join(fmt.Errorf("%w: it changed between the line and the disk", errContent),
			l.dropBlob(ctx, blob), l.discardPartial(ctx, t, path))
	}
	if blob.ContentType == "" {
		blob.ContentType = row.ContentType
	}
	err = l.s.archive.AttachMedia(ctx, row.RecordingID, row.Kind, blob)
	switch {
	case errors.Is(err, archive.ErrForgotten):
		return errors.Join(err, l.dropBlob(ctx, blob))
	case errors.Is(err, archive.ErrNotFound):
		row.State, row.Reason, row.SHA256 = archive.DownloadNone, "the meeting is not in the archive any more", ""
		return errors.Join(l.dropBlob(ctx, blob), l.saveRow(ctx, t, row))
	case errors.Is(err, archive.ErrNoBlob): // dropped as the recording of another meeting
		return errors.Join(err, l.discardPartial(ctx, t, path))
	case err != nil:
		return err
	}
	t.stats.countRecording()
	l.s.log.Info().Int64("recording_id", row.RecordingID).Int64("bytes", blob.Size).Msg("recording kept")
	return l.markDone(ctx, t)
}

// drop deletes a file that was not attached, unless another meeting has the same.
func (l *downloader) dropBlob(ctx context.Context, b archive.Blob) error {
	_, err := l.s.archive.DropBlob(ctx, b.SHA256)
	return err
}

// finished closes the row of a recording that is attached.
func (l *downloader) markDone(ctx context.Context, t *downloadTask) error {
	row := t.row
	row.State, row.Reason, row.Failures, row.Fetched, row.Validator = archive.DownloadDone, "", 0, 0, ""
	row.SHA256 = ""
	return errors.Join(l.saveRow(ctx, t, row), l.s.archive.ResolveFailure(context.WithoutCancel(ctx), row.Account,
		classDownload, strconv.FormatInt(row.RecordingID, 10)))
}

// startOver throws away what has been fetched.
func (l *downloader) discardPartial(ctx context.Context, t *downloadTask, path string) error {
	row := t.row
	row.Fetched, row.Validator, row.SHA256 = 0, "", ""
	t.hasher = nil
	if err := l.saveRow(ctx, t, row); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
