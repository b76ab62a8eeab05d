package generation

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"minutebook/internal/bucket"
)

// prefix is a place in a bucket.
type prefix struct{ bucket *bucket.Bucket }

// Ask asks the server of a place in a bucket whether the place can be listed. It fails with a
// [bucket.UnavailableError]. A directory has no server.
func Ask(ctx context.Context, p Place) error {
	if p, ok := p.(prefix); ok {
		return p.bucket.Check(ctx)
	}
	return nil
}

// KeepsVersions reports whether a place is in a bucket in which removed files stay as
// versions.
func KeepsVersions(ctx context.Context, p Place) bool {
	in, ok := p.(prefix)
	return ok && in.bucket.KeepsVersions(ctx)
}

// String is part of [Place].
func (p prefix) String() string { return p.bucket.Address() }

// Entries is part of [Place].
func (p prefix) Entries(ctx context.Context) (names []string, err error) {
	for o, err := range p.bucket.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimSuffix(o.Name, "/"))
	}
	return names, nil
}

// Files is part of [Place].
func (p prefix) Files(ctx context.Context, below string) (map[string]int64, error) {
	sizes := map[string]int64{}
	for o, err := range p.bucket.List(ctx, below+"/") {
		if err != nil {
			return nil, err
		}
		sizes[o.Name] = o.Size
	}
	return sizes, nil
}

// Open is part of [Place].
func (p prefix) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, _, err := p.bucket.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Write is part of [Place]. The object appears when all of it was sent.
func (p prefix) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	r, w := io.Pipe()
	filled := make(chan error, 1)
	go func() {
		err := fill(w)
		w.CloseWithError(err)
		filled <- err
	}()
	_, err := p.bucket.Put(ctx, name, r, -1, "application/octet-stream")
	r.CloseWithError(err) // ends fill
	if failed := <-filled; err == nil {
		err = failed
	}
	if err != nil {
		err = fmt.Errorf("write %s: %w", name, err)
	}
	return err
}

// Create is part of [Place].
func (p prefix) Create(ctx context.Context, name string, content []byte) error {
	created, err := p.bucket.Create(ctx, name, content)
	if err == nil && !created {
		err = fmt.Errorf("%s was written by another process meanwhile: %w", name, fs.ErrExist)
	}
	return err
}

// Remove is part of [Place].
func (p prefix) Remove(ctx context.Context, name string) error {
	for o, err := range p.bucket.List(ctx, name) { // a bucket with versions would note that an absent object was deleted
		if err == nil && (o.Name == name || strings.HasPrefix(o.Name, name+"/")) {
			err = p.bucket.Remove(ctx, o.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SweepWrites is part of [Place].
func (p prefix) SweepWrites(ctx context.Context, isOwn func(name string) bool) error {
	ever := time.Unix(1<<40, 0)
	return p.bucket.SweepUploads(ctx, ever, isOwn)
}
