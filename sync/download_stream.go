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
	"os"
	"path/filepath"
	"time"

	"minutebook/internal/outbound"
)

const (
	// stallTimeout is how long a media host may send nothing.
	stallTimeout = time.Minute
	// syncBytes is how many bytes are fetched between two syncs of the partial file.
	// A crash loses at most as many, and they are fetched again.
	syncBytes = 32 << 20
)

// fileHasher hashes a file as it grows.
type fileHasher struct {
	hash hash.Hash
	size int64
}

// write adds bytes to the hash.
func (s *fileHasher) write(b []byte) {
	s.hash.Write(b) // never fails
	s.size += int64(len(b))
}

// hex returns the hash in hexadecimal digits.
func (s *fileHasher) hex() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// stream fetches the missing bytes of a recording into its partial file with
// one request, and returns nil when the file has its whole length. The link is
// the only credential that is sent.
func (l *downloader) stream(ctx context.Context, a *account, t *downloadTask, path string) (err error) {
	file, err := l.openPartial(ctx, t, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if t.row.Fetched == t.row.Size && t.row.Size > 0 {
		return l.checkDigest(ctx, t, file)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("fetch recording: nothing came for %v", stallTimeout)) })
	defer watch.Stop()
	resp, err := l.getRest(ctx, a, t)
	if err != nil {
		return withCause(ctx, err)
	}
	defer resp.Body.Close()
	if err := l.acceptResponse(ctx, t, file, resp); err != nil {
		return err
	}
	return withCause(ctx, l.copyBody(ctx, t, file, resp, watch))
}

// withCause returns the reason why ctx was cancelled instead of the error that
// followed from it.
func withCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// openPartial opens the partial file, cuts it back to its durable bytes and
// hashes them.
func (l *downloader) openPartial(ctx context.Context, t *downloadTask, path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of partial files: %w", err)
	}
	// Earlier versions left files read-only that they could not copy to their store.
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open partial file: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open partial file: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() < t.row.Fetched {
		row := t.row
		row.Fetched, row.Validator = 0, ""
		err = l.saveRow(ctx, t, row)
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
// file's offset behind them.
func (t *downloadTask) rehash(file *os.File) error {
	if t.hasher == nil || t.hasher.size != t.row.Fetched {
		t.hasher = &fileHasher{hash: sha256.New()}
		n, err := io.Copy(t.hasher.hash, io.NewSectionReader(file, 0, t.row.Fetched))
		if err != nil {
			return err
		}
		t.hasher.size = n
	}
	_, err := file.Seek(t.row.Fetched, io.SeekStart)
	return err
}

// copyBody writes a body to the file and hashes it. It makes the file durable
// every [syncBytes] and at the end, after an error too.
func (l *downloader) copyBody(ctx context.Context, t *downloadTask, file *os.File, resp *http.Response, watch *time.Timer) error {
	body := outbound.Patience{}.Body(resp.Body)
	buf := make([]byte, 256<<10)
	unsynced := int64(0)
	for {
		n, err := body.Read(buf[:min(int64(len(buf)), t.row.Size-t.hasher.size+1)])
		if n > 0 {
			watch.Reset(stallTimeout)
			if t.hasher.size+int64(n) > t.row.Size {
				return errors.Join(fmt.Errorf("%w: more than the %d bytes announced are sent", errContent, t.row.Size), l.restartFile(ctx, t, file, ""))
			}
			if _, err := file.Write(buf[:n]); err != nil {
				return errors.Join(fmt.Errorf("write partial file: %w", err), l.syncPartial(ctx, t, file))
			}
			t.hasher.write(buf[:n])
			l.meter.add(int64(n))
			t.stats.countBytes(int64(n))
			if unsynced += int64(n); unsynced >= syncBytes {
				unsynced = 0
				if err := l.syncPartial(ctx, t, file); err != nil {
					return err
				}
			}
		}
		if err == nil {
			continue
		}
		if err := l.syncPartial(ctx, t, file); err != nil {
			return err
		}
		if t.hasher.size == t.row.Size { // a connection that breaks now has sent all
			return l.checkDigest(ctx, t, file)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("fetch recording: %w", err)
	}
}

// syncPartial makes the written bytes durable and then saves how many they are.
func (l *downloader) syncPartial(ctx context.Context, t *downloadTask, file *os.File) error {
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync partial file: %w", err)
	}
	row := t.row
	row.Fetched = t.hasher.size
	return l.saveRow(ctx, t, row)
}

// checkDigest compares a whole file with the digest that the media host announced with any
// part of it, if it announced one, and empties the file if it has another.
func (l *downloader) checkDigest(ctx context.Context, t *downloadTask, file *os.File) error {
	_, want := splitValidator(t.row.Validator)
	if want == "" || want == base64.StdEncoding.EncodeToString(t.hasher.hash.Sum(nil)) {
		return nil
	}
	return errors.Join(fmt.Errorf("%w: its SHA-256 differs from the one announced", errContent), l.restartFile(ctx, t, file, ""))
}
