package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Object describes an object. Its name is without the prefix.
type Object struct {
	Name        string
	Size        int64  // in bytes
	ContentType string // "" in a list
}

// Put stores an object and returns its size. size is the length of r, or -1 where it is not
// known: then each part is read into memory. When reading fails there is no object.
func (b *Bucket) Put(ctx context.Context, name string, r io.Reader, size int64, contentType string) (int64, error) {
	ctx, done := boundUpload(ctx)
	defer done()
	// The library takes io.ErrUnexpectedEOF for the end of the content, so it never sees it bare.
	info, err := b.client.Client.PutObject(ctx, b.name, b.Key(name), failingReader{r}, size, minio.PutObjectOptions{
		ContentType: contentType, PartSize: uint64(b.PartSize), SendContentMd5: true, DisableContentSha256: false})
	if err == nil && info.ETag == "" {
		err = errForeign
	}
	if err == nil && size > b.PartSize { // a crash may have left parts of it
		err = b.Abort(ctx, name)
	}
	if err != nil {
		return 0, fmt.Errorf("upload: %w", b.explain(err))
	}
	return info.Size, nil
}

// failingReader makes every error of reading but the end one that cannot be taken for it.
type failingReader struct{ io.Reader }

// Read is part of io.Reader.
func (r failingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = contentError{err}
	}
	return n, err
}

// Create stores a small object unless there is one of that name. It reports whether the object
// is there with this content: a try whose answer was lost, which is repeated, may have stored it.
func (b *Bucket) Create(ctx context.Context, name string, content []byte) (bool, error) {
	opts := minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true}
	opts.SetMatchETagExcept("*")
	info, err := b.client.Client.PutObject(ctx, b.name, b.Key(name), bytes.NewReader(content), int64(len(content)), opts)
	switch minio.ToErrorResponse(err).Code {
	case "PreconditionFailed", "ConditionalRequestConflict":
		stored, err := b.ReadSmall(ctx, name, int64(len(content)))
		if IsUnavailable(err) || ctx.Err() != nil {
			return false, err
		}
		return err == nil && bytes.Equal(stored, content), nil
	}
	if err == nil && info.ETag == "" {
		err = errForeign
	}
	return err == nil, b.explain(err)
}

// Stat describes an object. It fails with fs.ErrNotExist where there is none. The answer
// to HEAD has no body that would name the error: after a failure the list is asked
// too, so that neither an absent bucket nor a proxy that answers for its server looks like a
// bucket without the object.
func (b *Bucket) Stat(ctx context.Context, name string) (Object, error) {
	o, err := b.head(ctx, name)
	status := minio.ToErrorResponse(err).StatusCode
	if err == nil || status != http.StatusNotFound && status != http.StatusForbidden {
		return o, b.explain(err)
	}
	listed, failed := b.lists(ctx, name)
	if failed != nil {
		return Object{}, failed
	}
	if listed { // perhaps only since then
		o, err = b.head(ctx, name)
	}
	switch {
	case !isNotFound(err):
		return o, b.explain(err)
	case listed:
		return Object{}, b.contradiction(name, "it answers that this is not there")
	}
	return Object{}, fs.ErrNotExist
}

// contradiction returns the error of an answer that the list contradicts.
func (b *Bucket) contradiction(name, answer string) error {
	return &UnavailableError{Store: b.String(), Err: fmt.Errorf("its list has %s, and %s", name, answer),
		Hint: "see whether the server works, and what is in between"}
}

// head asks for an object alone.
func (b *Bucket) head(ctx context.Context, name string) (Object, error) {
	info, err := b.client.StatObject(ctx, b.name, b.Key(name), minio.StatObjectOptions{})
	return Object{name, info.Size, info.ContentType}, err
}

// lists reports whether the bucket's list has an object. It fails with an
// [UnavailableError].
func (b *Bucket) lists(ctx context.Context, name string) (bool, error) {
	for o, err := range b.list(ctx, minio.ListObjectsOptions{Prefix: b.Key(name), Recursive: true, MaxKeys: 1}) {
		return err == nil && o.Name == name, err
	}
	return false, nil
}

// Remove removes an object. It succeeds where there is none. A server answers with 204. After
// 404 or 200, which a proxy answers too, the list is asked.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	err := b.client.RemoveObject(ctx, b.name, b.Key(name), minio.RemoveObjectOptions{})
	if status := minio.ToErrorResponse(err).StatusCode; err == nil || status != http.StatusNotFound && status != http.StatusOK {
		return b.explain(err)
	}
	listed, err := b.lists(ctx, name)
	if listed {
		err = b.contradiction(name, "it answers the removal as if this were done")
	}
	return err
}

// KeepsVersions reports whether deleted objects stay in the bucket as versions. It is false
// where the keys may not ask that.
func (b *Bucket) KeepsVersions(ctx context.Context) bool {
	c, err := b.client.GetBucketVersioning(ctx, b.name)
	return err == nil && (c.Enabled() || c.Suspended())
}

// List returns the objects whose names begin with below.
func (b *Bucket) List(ctx context.Context, below string) iter.Seq2[Object, error] {
	return b.list(ctx, minio.ListObjectsOptions{Prefix: b.Key(below), Recursive: true})
}

// Entries returns the objects and folders right below the prefix; the names of folders end
// in a slash.
func (b *Bucket) Entries(ctx context.Context) iter.Seq2[Object, error] {
	return b.list(ctx, minio.ListObjectsOptions{Prefix: b.prefix})
}

// listPatience is how long pages of a list without an object are read.
const listPatience = 10 * time.Minute

// errEmptyPages is a list that does not end.
var errEmptyPages = errors.New("its list has had only empty pages for ten minutes")

// list yields the objects of a list. It fails where the server sends a page again, without an end:
// the name is kept of the object at each power of two, and no object is there twice. It fails too
// where pages without an object take longer than listPatience.
func (b *Bucket) list(ctx context.Context, o minio.ListObjectsOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		watch := time.AfterFunc(listPatience, func() { stop(errEmptyPages) })
		defer watch.Stop()
		explain := func(err error) error {
			if err != nil && context.Cause(ctx) == errEmptyPages {
				err = b.endless(errEmptyPages)
			}
			return b.explain(err)
		}
		n, kept := 0, ""
		for info := range b.client.ListObjectsIter(ctx, b.name, o) {
			watch.Stop() // the caller may be slow
			if info.Err == nil && n > 0 && info.Key == kept {
				yield(Object{}, b.endless(fmt.Errorf("its list repeats %s", kept)))
				return
			}
			if n++; n&(n-1) == 0 {
				kept = info.Key
			}
			if !yield(Object{Name: strings.TrimPrefix(info.Key, b.prefix), Size: info.Size}, explain(info.Err)) {
				return
			}
			watch.Reset(listPatience)
		}
		if err := ctx.Err(); err != nil {
			yield(Object{}, explain(err))
		}
	}
}

// endless returns the error of a list without an end.
func (b *Bucket) endless(err error) error {
	return &UnavailableError{Store: b.String(), Err: err, Hint: "see whether the server works, and what is in between"}
}

// Check reads one line of the bucket's list, whose answer names the fault. It fails with
// an [UnavailableError].
func (b *Bucket) Check(ctx context.Context) error {
	for _, err := range b.list(ctx, minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true, MaxKeys: 1}) {
		return err
	}
	return nil
}
