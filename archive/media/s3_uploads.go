package media

import (
	"context"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"
)

// staleUpload is the age of an incomplete upload from which a crash must have
// left it. No list shows its parts, but the bucket keeps them.
const staleUpload = 24 * time.Hour

// SweepUploads ends incomplete uploads to a store in a bucket that are more than
// a day old. Other stores have none.
func SweepUploads(ctx context.Context, s Store, now time.Time) error {
	if s, ok := s.(*s3Store); ok {
		if err := s.claim(ctx); err != nil {
			return err
		}
		return s.sweepUploads(ctx, now.Add(-staleUpload))
	}
	return nil
}

// sweepUploads ends incomplete uploads to this store that began before a time.
func (s *s3Store) sweepUploads(ctx context.Context, before time.Time) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for u := range s.client.ListIncompleteUploads(ctx, s.bucket, s.prefix, true) {
		if u.Err != nil {
			return s.explain(unlessRefused(u.Err))
		}
		if sha := filepath.Base(u.Key); !ValidName(sha) || u.Key != s.key(sha) || !u.Initiated.Before(before) {
			continue
		}
		if err := s.abort(ctx, u.Key); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// abort ends the incomplete uploads of an object.
func (s *s3Store) abort(ctx context.Context, key string) error {
	return unlessRefused(s.client.RemoveIncompleteUpload(ctx, s.bucket, key))
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
