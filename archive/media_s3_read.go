package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/minio/minio-go/v7"
)

// Open is part of Store. Every place that is read from is asked of the server
// with a range; nothing is kept here. Reading ends when ctx does.
func (s *s3Store) Open(ctx context.Context, sha string) (BlobReader, Blob, error) {
	blob, err := s.Stat(ctx, sha)
	if err != nil {
		return nil, Blob{}, fmt.Errorf("open blob: %w", err)
	}
	return &s3Reader{ctx: ctx, store: s, blob: blob}, blob, nil
}

// s3Reader reads an object in order by one long answer, and anywhere by short
// ones of their own.
type s3Reader struct {
	ctx   context.Context
	store *s3Store
	blob  Blob

	mu     sync.Mutex // guards all below
	at     int64      // where the next Read begins
	body   io.ReadCloser
	bodyAt int64 // where body stands
	closed bool
}

// get asks for the bytes from one place up to, not with, another.
func (r *s3Reader) get(from, to int64) (io.ReadCloser, error) {
	var o minio.GetObjectOptions
	if err := o.SetRange(from, to-1); err != nil {
		return nil, err
	}
	body, _, _, err := r.store.client.GetObject(r.ctx, r.store.bucket, r.store.key(r.blob.SHA256), o)
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", r.blob.SHA256, s3Error(err))
	}
	return body, nil
}

// Read is part of io.Reader.
func (r *s3Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.readable(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.at >= r.blob.Size {
		return 0, io.EOF
	}
	if r.body != nil && r.bodyAt != r.at {
		r.drop()
	}
	if r.body == nil {
		body, err := r.get(r.at, r.blob.Size)
		if err != nil {
			return 0, err
		}
		r.body, r.bodyAt = body, r.at
	}
	n, err := r.body.Read(p)
	r.at += int64(n)
	r.bodyAt = r.at
	if errors.Is(err, io.EOF) {
		r.drop()
		if err = nil; r.at < r.blob.Size && n == 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

func (r *s3Reader) drop() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}

func (r *s3Reader) readable() error {
	if r.closed {
		return fmt.Errorf("read blob %s: it is closed", r.blob.SHA256)
	}
	return r.ctx.Err()
}

// ReadAt is part of io.ReaderAt; calls may run side by side.
func (r *s3Reader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	err := r.readable()
	r.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case off < 0:
		return 0, fmt.Errorf("read blob %s: offset %d", r.blob.SHA256, off)
	case off >= r.blob.Size:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	want := min(int64(len(p)), r.blob.Size-off)
	body, err := r.get(off, off+want)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	n, err := io.ReadFull(body, p[:want])
	if err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return n, err
}

// Seek is part of io.Seeker. It asks nothing of the server.
func (r *s3Reader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.blob.Size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return r.at, fmt.Errorf("seek in blob %s: no such place", r.blob.SHA256)
	}
	r.at = offset
	return offset, nil
}

// Close is part of io.Closer.
func (r *s3Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	r.closed = true
	return nil
}
