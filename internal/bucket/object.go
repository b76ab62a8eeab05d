package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/minio/minio-go/v7"
)

// Reader reads an object from any place in it. Each read at a new place is a call to the
// server; nothing is cached. Its errors tell a server that fails from bytes that are
// wrong.
type Reader struct {
	object *minio.Object
	bucket *Bucket
	at     int64 // where Read goes on
	size   int64
}

// Open opens an object, which the caller closes. It fails with fs.ErrNotExist where there
// is none. Reading ends when ctx does.
func (b *Bucket) Open(ctx context.Context, name string) (*Reader, Object, error) {
	o, err := b.Stat(ctx, name)
	if err != nil {
		return nil, Object{}, err
	}
	object, err := b.client.Client.GetObject(ctx, b.name, b.Key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, Object{}, b.explain(err)
	}
	return &Reader{object: object, bucket: b, size: o.Size}, o, nil
}

// ReadSmall returns the content of an object of at most limit bytes. It fails with
// fs.ErrNotExist where there is none.
func (b *Bucket) ReadSmall(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, o, err := b.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if o.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, o.Size, limit)
	}
	content, err := io.ReadAll(r)
	if isNotFound(err) { // removed meanwhile
		err = fs.ErrNotExist
	}
	return content, err
}

// Read is part of io.Reader. An object that ends too early was not sent whole.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.object.Read(p)
	r.at += int64(n)
	if err == io.EOF && r.at < r.size {
		err = fmt.Errorf("%d of %d bytes came: %w", r.at, r.size, io.ErrUnexpectedEOF)
	}
	return n, r.explain(err)
}

// ReadAt is part of io.ReaderAt.
func (r *Reader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.object.ReadAt(p, at)
	return n, r.explain(err)
}

// Seek is part of io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	n, err := r.object.Seek(offset, whence)
	if err == nil {
		r.at = n
	}
	return n, r.explain(err)
}

// Close is part of io.Closer.
func (r *Reader) Close() error { return r.object.Close() }

func (r *Reader) explain(err error) error {
	if err == io.EOF {
		return err
	}
	return r.bucket.explain(err)
}

// isNotFound reports whether the server's error says that an object is absent.
func isNotFound(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && (answer.Code == minio.NoSuchKey || answer.Code == "NotFound")
}
