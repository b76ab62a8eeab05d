package archive

import (
	"context"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"
)

// staleUpload is the age from which an upload that is not complete was left by a
// crash: no list shows its parts, but the bucket keeps them.
const staleUpload = 24 * time.Hour

// sweepUploads ends uploads to this store that a crash left before a time.
func (s *s3Store) sweepUploads(ctx context.Context, before time.Time) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for u := range s.client.ListIncompleteUploads(ctx, s.bucket, s.prefix, true) {
		if u.Err != nil {
			return unlessRefused(u.Err)
		}
		if sha := filepath.Base(u.Key); !validSHA(sha) || u.Key != s.key(sha) || !u.Initiated.Before(before) {
			continue
		}
		if err := s.abort(ctx, u.Key); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// abort ends the uploads of an object that are not complete.
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
