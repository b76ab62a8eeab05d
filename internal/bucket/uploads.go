package bucket

import (
	"context"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// SweepUploads ends the unfinished uploads that began before a time and whose names
// isOwn accepts. No list shows their parts, but the bucket keeps them.
func (b *Bucket) SweepUploads(ctx context.Context, before time.Time, isOwn func(name string) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for u := range b.client.ListIncompleteUploads(ctx, b.name, b.prefix, true) {
		if u.Err != nil {
			return b.explain(unlessRefused(u.Err))
		}
		name := strings.TrimPrefix(u.Key, b.prefix)
		if !isOwn(name) || !u.Initiated.Before(before) {
			continue
		}
		if err := b.Abort(ctx, name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Abort ends the unfinished uploads of an object.
func (b *Bucket) Abort(ctx context.Context, name string) error {
	return b.explain(unlessRefused(b.client.RemoveIncompleteUpload(ctx, b.name, b.Key(name))))
}

// unlessRefused is nil where the server has no such call or does not allow it to
// this user: then the parts are left to the bucket's own rules.
func unlessRefused(err error) error {
	switch minio.ToErrorResponse(err).Code {
	case "NotImplemented", "AccessDenied", minio.NoSuchKey, "NoSuchUpload":
		return nil
	}
	return err
}
