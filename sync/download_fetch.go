package syncer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/durable"
	"minutebook/internal/outbound"
	"minutebook/internal/pause"
)

const (
	// expiryMargin is how long before its expiry a link counts as expired.
	expiryMargin = 5 * time.Second
	// maxIdleAttempts is how many attempts without a byte end a fetch that a person
	// waits for.
	maxIdleAttempts = 5
	// patientAttempts is how many attempts without a byte, about a quarter of an hour,
	// end any other fetch: a host that does not answer for some recordings must not
	// hold up those of other hosts until the links expire.
	patientAttempts = 10
)

var (
	// errLater means that a recording stays as it is until the next run.
	errLater = errors.New("left for the next run")
	// errAddress means that nothing can be fetched from the address of the link.
	errAddress = errors.New("the service gave no usable address of the recording")
	// errLink means that the media host refused the link.
	errLink = errors.New("the media host does not accept the link")
	// errContent means that the bytes differ from the announced recording.
	errContent = errors.New("the recording differs from the announced one")
)

// fetch brings a generated recording to the disk. It resumes after
// interruptions for as long as the link is valid; a file that is whole and waits
// for its store needs no link.
func (l *downloader) fetch(ctx context.Context, t *downloadTask) error {
	if done, err := l.finishIfStored(ctx, t); done || err != nil {
		return err
	}
	a := l.s.account(t.row.Account)
	if a == nil {
		return l.releaseAccount(ctx, t)
	}
	if err := checkSize(t.row.Size); err != nil {
		return err
	}
	idle, wrong := 0, 0
	for wait := time.Second; ; wait = min(2*wait, 5*time.Minute) {
		if end := t.row.ExpiresAt; !end.IsZero() && !l.s.now().Add(expiryMargin).Before(end) && !l.hasWholeFile(t) {
			return l.requeueLapsed(ctx, t, "the link expired")
		}
		before := t.row.Fetched
		err := l.fetchOnce(ctx, a, t)
		switch {
		case err == nil, ctx.Err() != nil, isFinal(err):
			return err
		case errors.Is(err, outbound.ErrNotGlobal):
			return fmt.Errorf("%w; allow_private lets this account fetch from there", err)
		case errors.Is(err, errContent):
			if wrong++; wrong == 3 {
				return err
			}
		case errors.Is(err, errLink):
			return l.requeueLapsed(ctx, t, err.Error())
		case t.row.State != archive.DownloadReady:
			return err
		}
		if _, drips := errors.AsType[*outbound.DripError](err); drips {
			idle = patientAttempts // it took about as long
		} else if t.row.Fetched > before {
			idle, wait = 0, time.Second
		} else {
			idle++
		}
		if t.waitedFor && idle >= maxIdleAttempts {
			return fmt.Errorf("%w: %w", errLater, err)
		} else if idle >= patientAttempts && !media.IsUnavailable(err) { // a whole file waits for its store
			return err
		}
		l.s.log.Info().Int64("recording_id", t.row.RecordingID).Int64("bytes", t.row.Fetched).Err(err).Msg("fetch interrupted; it is resumed")
		pause.For(ctx, wait)
	}
}

// isFinal reports whether another attempt would fail like this one. With an error of this
// machine the recording rests, and status says why; only a store that is away is waited for.
func isFinal(err error) bool {
	return isLocal(err) && !media.IsUnavailable(err) || errors.Is(err, archive.ErrForgotten) || errors.Is(err, errAddress) || errors.Is(err, errSuspended) || errors.Is(err, errLeft)
}

// finishIfStored attaches a recording that was stored just before a crash, closes the row
// of one that was attached, and reports whether there was either.
func (l *downloader) finishIfStored(ctx context.Context, t *downloadTask) (bool, error) {
	attached, err := l.s.archive.MediaOf(ctx, t.row.RecordingID)
	if err != nil {
		return false, err
	}
	if len(attached) > 0 {
		return true, l.markDone(ctx, t)
	}
	if t.row.SHA256 == "" {
		return false, nil
	}
	blob, err := l.store.Stat(ctx, t.row.SHA256)
	if err != nil {
		return false, nil // it is fetched, or waits for its store
	}
	return true, l.attach(ctx, t, blob, l.partialPath(t))
}

// fetchOnce fetches the missing bytes of a recording. When the file is whole,
// it goes into the store first, then the archive points to it, and the queue's
// row is closed last.
func (l *downloader) fetchOnce(ctx context.Context, a *account, t *downloadTask) error {
	if t.url == "" && !l.hasWholeFile(t) { // an earlier process had the link: read it again
		d, err := l.poll(ctx, a, t)
		if err != nil || d == nil {
			return err
		}
		if err := l.applyStatus(ctx, t, d); err != nil || t.row.State != archive.DownloadReady {
			return err
		}
	}
	release, err := l.fetchSlots.acquire(ctx, t.row.ExpiresAt)
	if err != nil {
		return err
	}
	defer release()
	if err := l.s.checkDiskSpace(t.row.Size - t.row.Fetched); err != nil {
		return err
	}
	path := l.partialPath(t)
	l.meter.begin(l.s.opt.Now())
	err = l.stream(ctx, a, t, path)
	l.pace.recordFetch(l.meter.end(l.s.opt.Now()))
	if err != nil {
		return err
	}
	return l.storeFile(ctx, t, path)
}

// partialPath is the file in which a task's recording grows.
func (l *downloader) partialPath(t *downloadTask) string {
	return l.s.archive.PartialPath(strconv.FormatInt(t.row.RecordingID, 10))
}

// hasWholeFile reports whether all bytes of a recording are in its partial file.
func (l *downloader) hasWholeFile(t *downloadTask) bool {
	if t.row.Size <= 0 || t.row.Fetched != t.row.Size {
		return false
	}
	info, err := os.Stat(l.partialPath(t))
	return err == nil && info.Size() >= t.row.Size
}

// storeFile moves a whole file into the store, checks the hash that it has
// there and attaches it to the meeting. The hash is saved before the move, so
// that forgetting the meeting finds the file after an interruption.
func (l *downloader) storeFile(ctx context.Context, t *downloadTask, path string) error {
	row, sha := t.row, t.hasher.hex()
	defer l.s.archive.BeginStoring(sha)()
	err := media.Check(ctx, l.store)
	if before := row.SHA256; err == nil && before != "" && before != sha { // stored, and never attached
		_, err = l.s.archive.DropBlob(ctx, before)
	}
	if err == nil {
		row.SHA256 = sha
		err = l.saveRow(ctx, t, row)
	}
	var blob media.Blob
	if err == nil {
		blob, err = l.store.Import(ctx, path)
	}
	if media.IsUnavailable(err) {
		l.noteStore(err)
		l.wake()
	}
	if err != nil {
		return err
	}
	ctx, end := pause.Grace(ctx) // only the rest, or the next start, finds the file now
	defer end()
	if blob.SHA256 != row.SHA256 || blob.Size != row.Size {
		return errors.Join(fmt.Errorf("%w: it changed between the line and the disk", errContent),
			l.dropBlob(ctx, blob), l.discardPartial(ctx, t, path))
	}
	return l.attach(ctx, t, blob, path)
}

// attach makes a stored file the recording of its meeting, and closes the row.
func (l *downloader) attach(ctx context.Context, t *downloadTask, blob media.Blob, path string) error {
	row := t.row
	if blob.ContentType == "" {
		blob.ContentType = row.ContentType
	}
	err := l.s.archive.AttachMedia(ctx, row.RecordingID, row.Kind, blob)
	switch {
	case errors.Is(err, archive.ErrForgotten):
		return errors.Join(err, l.dropBlob(ctx, blob))
	case errors.Is(err, archive.ErrNotFound):
		row.State, row.Reason, row.SHA256 = archive.DownloadNone, "the meeting is not in the archive any more", ""
		return errors.Join(l.dropBlob(ctx, blob), l.closeRow(ctx, t, row))
	case errors.Is(err, archive.ErrNoBlob): // deleted as the recording of another meeting
		return errors.Join(err, l.discardPartial(ctx, t, path))
	case err != nil:
		return err
	}
	t.stats.countRecording()
	l.s.log.Info().Int64("recording_id", row.RecordingID).Int64("bytes", blob.Size).Msg("recording stored")
	return l.markDone(ctx, t)
}

// dropBlob deletes a file that was not attached, unless another meeting has the
// same.
func (l *downloader) dropBlob(ctx context.Context, b media.Blob) error {
	_, err := l.s.archive.DropBlob(ctx, b.SHA256)
	return err
}

// markDone closes the row of an attached recording. Its partial file stayed where the store's
// answer was lost, or where the store had the same file already.
func (l *downloader) markDone(ctx context.Context, t *downloadTask) error {
	if err := durable.Remove(l.partialPath(t)); err != nil { // first: nobody looks for it afterwards
		return err
	}
	row := t.row
	row.State, row.Reason, row.Failures, row.Fetched, row.Validator = archive.DownloadDone, "", 0, 0, ""
	row.SHA256 = ""
	return l.closeRow(ctx, t, row)
}

// discardPartial deletes the bytes fetched so far.
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
