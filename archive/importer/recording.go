package importer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/bucket"
	"minutebook/internal/diskspace"
	"minutebook/internal/pause"
	"minutebook/internal/seal"
)

// attachFile makes a file a recording of a meeting and reports whether it was none
// before. The file stays where it is. The store does not keep the recording of a meeting
// that was forgotten meanwhile, and a file that a retention rule would delete again is only counted.
func (im *run) attachFile(ctx context.Context, id int64, path string) (bool, error) {
	f, size, err := openFile(path)
	if err != nil {
		return false, unreadable(path, err)
	}
	defer f.Close()
	if size == 0 {
		return false, Wrong{File: path, Err: errors.New("the recording is empty")}
	}
	switch expired, err := im.archive.HasExpired(ctx, id); {
	case err != nil:
		return false, err
	case expired:
		im.result.Expired++
		return false, nil
	}
	all, err := im.archive.MediaOf(ctx, id)
	if err != nil {
		return false, err
	}
	checkStore := func() error {
		if err := im.checkStore(ctx, size); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return unstored{Wrong{File: path, Err: err}}
		}
		return nil
	}
	if !slices.ContainsFunc(all, func(m archive.Attached) bool { return m.Size == size }) { // a film that waits is not read at each look
		if err := checkStore(); err != nil {
			return false, err
		}
	}
	h := sha256.New()
	if _, err := seal.Copy(ctx, h, f); ctx.Err() != nil {
		return false, ctx.Err()
	} else if err != nil {
		return false, unreadable(path, err)
	}
	sum := fmt.Sprintf("%x", h.Sum(nil))
	for _, m := range all {
		if m.SHA256 == sum {
			return false, nil
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read recording: %w", err)
	}
	if err := checkStore(); err != nil {
		return false, err
	}
	defer im.archive.BeginStoring(sum)()
	blob, err := im.put(ctx, id, sum, f)
	if ctx.Err() != nil {
		return false, ctx.Err()
	} else if err != nil {
		return false, unstored{Wrong{File: path, Err: fmt.Errorf("it cannot be stored: %w", err)}}
	}
	kind := archive.MediaAudio
	if strings.HasPrefix(blob.ContentType, "video/") && !isAudioName(path) {
		kind = archive.MediaVideo
	}
	err = im.archive.AttachMedia(ctx, id, kind, blob)
	if errors.Is(err, archive.ErrNoBlob) {
		err = fmt.Errorf("a rule of retention or a repair deleted it at the same time: %w", err)
		return false, unstored{Wrong{File: path, Err: err}}
	} else if media.IsUnavailable(err) {
		return false, unstored{Wrong{File: path, Err: err}}
	} else if err != nil {
		ctx, end := pause.Grace(ctx)
		defer end()
		return false, errors.Join(err, im.archive.DropExpected(ctx, id, blob.SHA256))
	}
	return true, nil
}

// unchanged fails at the end of a file that is another one than when its hash was expected.
type unchanged struct {
	io.Reader
	sum  hash.Hash
	want string
}

func (u *unchanged) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	u.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && fmt.Sprintf("%x", u.sum.Sum(nil)) != u.want {
		err = errors.New("it changed while it was read")
	}
	return n, err
}

// storeState is how the store of recordings was found in a run.
type storeState struct {
	isWell bool  // it answered
	late   error // it was waited for in vain
	failed bool  // it did not take a file
}

// note notes that the store was waited for in vain where an error says so.
func (s *storeState) note(err error) {
	if unavailable, ok := errors.AsType[*media.UnavailableError](err); ok && bucket.IsLate(err) {
		s.late = unavailable
	}
}

// put stores a file with a hash for a meeting. A store that was waited for in vain is not
// asked again: the transcripts of the other meetings would wait for minutes each time.
func (im *run) put(ctx context.Context, id int64, sum string, f io.Reader) (media.Blob, error) {
	if im.store.late != nil {
		return media.Blob{}, im.store.late
	}
	if err := im.archive.ExpectMedia(ctx, id, sum); err != nil {
		return media.Blob{}, err
	}
	blob, err := im.archive.Media().Put(ctx, &unchanged{Reader: f, sum: sha256.New(), want: sum})
	if err != nil && ctx.Err() == nil && !media.IsUnavailable(err) { // the store does not have it
		err = errors.Join(err, im.archive.DropExpected(ctx, id, sum))
	}
	im.store.note(err)
	im.store.failed = im.store.failed || err != nil
	return blob, err
}

// unstored is a recording that cannot be stored at present, though its file is well. Other
// meetings do not wait for it.
type unstored struct{ Wrong }

// Unwrap returns the file and the reason.
func (u unstored) Unwrap() error { return u.Wrong }

// checkStore fails where a file of so many bytes cannot be stored at present.
func (im *run) checkStore(ctx context.Context, size int64) error {
	if err := im.checkRoom(size); err != nil {
		return err
	}
	if !im.store.isWell && im.store.late == nil {
		if err := media.Check(ctx, im.archive.Media()); err != nil {
			im.store.note(err)
			return fmt.Errorf("it cannot be stored: %w", err)
		}
		im.store.isWell = true
	}
	if im.store.late != nil {
		return fmt.Errorf("it cannot be stored: %w", im.store.late)
	}
	return nil
}

// checkRoom fails where so many bytes would leave less than MinFree on the disk of recordings.
func (im *run) checkRoom(size int64) error {
	if im.MinFree == 0 {
		return nil
	}
	free, _, err := diskspace.Read(im.archive.MediaDir())
	if err == nil && free-size < im.MinFree {
		err = fmt.Errorf("it waits for room: %d MB are free, %d MB must stay free (media.min_free_bytes), and %d MB are needed", free>>20, im.MinFree>>20, size>>20)
	}
	return err
}
