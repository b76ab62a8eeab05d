package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"
)

// UnavailableError says that a store did not answer, or refused to. It says nothing
// about a blob, which may be in the store, undamaged.
type UnavailableError struct {
	Store string // the store's name, such as "bucket minutes at s3.example"
	Hint  string // how a person can remedy it; "" where only waiting helps
	Err   error
}

// Error names the store, the failure and the remedy.
func (e *UnavailableError) Error() string {
	text := e.Store + ": " + e.Err.Error()
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the failure.
func (e *UnavailableError) Unwrap() error { return e.Err }

// IsUnavailable reports whether an error says that a store could not be used, and
// nothing about a blob.
func IsUnavailable(err error) bool {
	var unavailable *UnavailableError
	return errors.As(err, &unavailable)
}

// checkTimeout is how long [Check] waits for a server.
const checkTimeout = 20 * time.Second

// Check asks a store whether it can be used at present. It fails with an
// [UnavailableError]: a bucket is asked for its list, and a directory has to be the one
// that was opened, and not the mount point that an unmounted file system leaves behind.
// No other archive may own it, see [SetOwner].
func Check(ctx context.Context, s Store) error {
	switch s := s.(type) {
	case *s3Store:
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		if err := s.check(ctx); err != nil {
			return err
		}
		return s.claim(ctx)
	case *fileStore:
		if _, err := os.Stat(filepath.Join(s.dir, partialDir)); err != nil {
			return &UnavailableError{Store: "recordings in " + s.dir, Hint: "mount its file system, or correct media.url and restart", Err: err}
		}
		return s.claim()
	}
	return nil
}

// check reads one line of the bucket's list, whose answer names the fault.
func (s *s3Store) check(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for o := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true, MaxKeys: 1}) {
		return s.explain(o.Err)
	}
	return s.explain(ctx.Err())
}

// explain makes an [UnavailableError] of the server's error, or of none. Refused
// credentials are read again at the next call, in case their file has changed.
func (s *s3Store) explain(err error) error {
	if err == nil || IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return err
	}
	unavailable := &UnavailableError{Store: fmt.Sprintf("bucket %s at %s", s.bucket, s.host), Err: err}
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchBucket:
		unavailable.Hint = "make the bucket, or correct media.url"
	case "RequestTimeTooSkewed":
		unavailable.Hint = "set this machine's clock"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "ExpiredTokenException", "InvalidTokenId":
		s.creds.Expire()
		unavailable.Hint = "correct the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the shared credentials file)"
	case minio.AccessDenied:
		s.creds.Expire()
		unavailable.Hint = "give the user of the credentials the right to list, read, write and delete there, or correct the credentials"
	}
	return unavailable
}

// isNotFound reports whether the server's error says that an object is absent.
func isNotFound(err error) bool {
	code := minio.ToErrorResponse(err).Code
	return code == minio.NoSuchKey || code == "NotFound"
}

// s3Object reads an object. Its errors tell a server that fails from bytes that are
// wrong.
type s3Object struct {
	*minio.Object
	store *s3Store
	at    int64 // where Read goes on
	size  int64
}

// Read is part of [Reader]. An object that ends too early was not sent whole.
func (o *s3Object) Read(p []byte) (int, error) {
	n, err := o.Object.Read(p)
	o.at += int64(n)
	if err == io.EOF && o.at < o.size {
		err = fmt.Errorf("%d of %d bytes came: %w", o.at, o.size, io.ErrUnexpectedEOF)
	}
	return n, o.explain(err)
}

// ReadAt is part of [Reader].
func (o *s3Object) ReadAt(p []byte, at int64) (int, error) {
	n, err := o.Object.ReadAt(p, at)
	return n, o.explain(err)
}

// Seek is part of [Reader].
func (o *s3Object) Seek(offset int64, whence int) (int64, error) {
	n, err := o.Object.Seek(offset, whence)
	if err == nil {
		o.at = n
	}
	return n, o.explain(err)
}

func (o *s3Object) explain(err error) error {
	if err == io.EOF {
		return err
	}
	return o.store.explain(err)
}
