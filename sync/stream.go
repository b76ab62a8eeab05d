package syncer

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// stall is how long a media host may send nothing.
	stall = time.Minute
	// syncEvery is how many bytes are fetched between two moments at which what is
	// there is made durable: what is lost of them by a crash is fetched again.
	syncEvery = 32 << 20
)

// summer hashes a file as it grows.
type summer struct {
	hash hash.Hash
	size int64
}

func (s *summer) write(b []byte) {
	s.hash.Write(b) // never fails
	s.size += int64(len(b))
}

func (s *summer) hex() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// stream fetches what is missing of a recording into its partial file with one
// request, goes on behind what is durable there, and returns nil when the file
// has its whole length. No credential but the link itself is sent.
func (l *loader) stream(ctx context.Context, a *account, t *task, path string) (err error) {
	file, err := l.openPartial(ctx, t, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if t.row.Fetched == t.row.Size && t.row.Size > 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("fetch recording: nothing came for %v", stall)) })
	defer watch.Stop()
	resp, err := l.get(ctx, a, t)
	if err != nil {
		return orCause(ctx, err)
	}
	defer resp.Body.Close()
	if err := l.accept(ctx, t, file, resp); err != nil {
		return err
	}
	return orCause(ctx, l.pour(ctx, t, file, resp, watch))
}

// orCause replaces an error that a cancelled context led to by the reason.
func orCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// openPartial opens the partial file, cut back to what is durable, and makes
// sure that the hash covers it.
func (l *loader) openPartial(ctx context.Context, t *task, path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of partial files: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open partial file: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() < t.row.Fetched {
		row := t.row
		row.Fetched, row.Validator = 0, ""
		err = l.save(ctx, t, row)
	}
	if err == nil {
		err = file.Truncate(t.row.Fetched)
	}
	if err == nil {
		err = t.rehash(file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare partial file: %w", err), file.Close())
	}
	return file, nil
}

// rehash makes the task's hash that of the file's durable bytes, and leaves the
// file positioned behind them.
func (t *task) rehash(file *os.File) error {
	if t.sum == nil || t.sum.size != t.row.Fetched {
		t.sum = &summer{hash: sha256.New()}
		n, err := io.Copy(t.sum.hash, io.NewSectionReader(file, 0, t.row.Fetched))
		if err != nil {
			return err
		}
		t.sum.size = n
	}
	_, err := file.Seek(t.row.Fetched, io.SeekStart)
	return err
}

// get asks the media host for the bytes that are missing. Errors do not name the
// address, which is a credential.
func (l *loader) get(ctx context.Context, a *account, t *task) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return nil, errors.New("fetch recording: the service gave no usable address")
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "minutebook")
	own := "id:" + t.row.DownloadID
	if t.row.Fetched > 0 && (t.row.Validator == own || !strings.HasPrefix(t.row.Validator, "id:")) {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.row.Fetched))
		if t.row.Validator != own {
			req.Header.Set("If-Range", t.row.Validator)
		}
	}
	client := l.guarded
	if a.AllowPrivate || l.s.opt.AllowPrivate {
		client = l.private
	}
	resp, err := client.Do(req)
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	if err != nil {
		return nil, fmt.Errorf("fetch recording: %w", err)
	}
	return resp, nil
}

// accept looks at the head of an answer and prepares the file for its body.
func (l *loader) accept(ctx context.Context, t *task, file *os.File, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		if !continues(resp.Header.Get("Content-Range"), t.row.Fetched, t.row.Size) || otherEdition(resp.Header, t.row.Validator) {
			return errors.Join(fmt.Errorf("%w: the part that was sent does not fit", errContent), l.rewind(ctx, t, file, ""))
		}
		return nil
	case http.StatusOK:
		if n := resp.ContentLength; n >= 0 && n != t.row.Size {
			return fmt.Errorf("%w: %d bytes were announced and %d are sent", errContent, t.row.Size, n)
		}
		return l.rewind(ctx, t, file, validator(resp.Header, t.row.DownloadID))
	case http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(errors.New("fetch recording: the media host has no such part"), l.rewind(ctx, t, file, ""))
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusBadRequest:
		return fmt.Errorf("%w (%d)", errLink, resp.StatusCode)
	}
	return fmt.Errorf("fetch recording: the media host answers %d", resp.StatusCode)
}

// rewind begins the file anew with bytes of the given validator.
func (l *loader) rewind(ctx context.Context, t *task, file *os.File, validator string) error {
	row := t.row
	row.Fetched, row.Validator = 0, validator
	if err := l.save(ctx, t, row); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("empty partial file: %w", err)
	}
	t.sum = nil
	return t.rehash(file)
}

// continues tells whether a Content-Range goes on at from in a file of a size.
func continues(header string, from, size int64) bool {
	return header == fmt.Sprintf("bytes %d-%d/%d", from, size-1, size)
}

// otherEdition tells whether an answer has a strong ETag that is not that of the
// bytes before it.
func otherEdition(h http.Header, validator string) bool {
	tag := h.Get("ETag")
	return strings.HasPrefix(tag, `"`) && strings.HasPrefix(validator, `"`) && tag != validator
}

// validator is what tells later whether the same bytes are still to be had: a
// strong ETag, a date, or else the download itself.
func validator(h http.Header, downloadID string) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	if date := h.Get("Last-Modified"); date != "" {
		return date
	}
	return "id:" + downloadID
}

// pour writes a body to the file, hashing it, and makes it durable from time to
// time and at the end, whatever the end is.
func (l *loader) pour(ctx context.Context, t *task, file *os.File, resp *http.Response, watch *time.Timer) error {
	buf := make([]byte, 256<<10)
	unsynced := int64(0)
	for {
		n, err := resp.Body.Read(buf[:min(int64(len(buf)), t.row.Size-t.sum.size+1)])
		if n > 0 {
			watch.Reset(stall)
			if t.sum.size+int64(n) > t.row.Size {
				return errors.Join(fmt.Errorf("%w: more than the %d bytes announced are sent", errContent, t.row.Size), l.rewind(ctx, t, file, ""))
			}
			if _, err := file.Write(buf[:n]); err != nil {
				return errors.Join(fmt.Errorf("write partial file: %w", err), l.harden(ctx, t, file))
			}
			t.sum.write(buf[:n])
			l.meter.count(int64(n))
			t.tally.fetched(int64(n))
			if unsynced += int64(n); unsynced >= syncEvery {
				unsynced = 0
				if err := l.harden(ctx, t, file); err != nil {
					return err
				}
			}
		}
		if err == nil {
			continue
		}
		if err := l.harden(ctx, t, file); err != nil {
			return err
		}
		if err == io.EOF && t.sum.size == t.row.Size {
			if err := digestError(resp.Header, t); err != nil {
				return errors.Join(err, l.rewind(ctx, t, file, ""))
			}
			return nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("fetch recording: %w", err)
	}
}

// harden makes what was written durable and then notes how far it goes.
func (l *loader) harden(ctx context.Context, t *task, file *os.File) error {
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync partial file: %w", err)
	}
	row := t.row
	row.Fetched = t.sum.size
	return l.save(ctx, t, row)
}

// digestError compares the whole file with the digest that the media host gave,
// if it gave one (RFC 9530 Repr-Digest, or the older Digest).
func digestError(h http.Header, t *task) error {
	sum := base64.StdEncoding.EncodeToString(t.sum.hash.Sum(nil))
	for _, field := range []string{h.Get("Repr-Digest"), h.Get("Digest")} {
		for _, one := range strings.Split(field, ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
			if ok && strings.EqualFold(name, "sha-256") && strings.Trim(value, ":") != sum {
				return fmt.Errorf("%w: its SHA-256 differs from the one announced", errContent)
			}
		}
	}
	return nil
}
