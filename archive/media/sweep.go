package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"minutebook/internal/durable"
)

// staleUpload is the age of an unfinished upload from which a crash must have left it.
const staleUpload = 24 * time.Hour

// Sweep deletes the leftovers of a crash: temporary files, and unfinished uploads to a bucket that
// are more than a day old. Interrupted downloads stay. No other process uses the data directory.
func Sweep(ctx context.Context, s Store, now time.Time) error {
	switch s := s.(type) {
	case *s3Store:
		err := s.claim(ctx, false)
		if err == nil {
			err = s.bucket.SweepUploads(ctx, now.Add(-staleUpload), s.isKey)
		}
		return errors.Join(err, sweepTemporary(s.local))
	case *fileStore:
		err := s.claim(ctx)
		if err == nil {
			err = sweepTemporary(s.dir)
		}
		if s.local != s.dir {
			err = errors.Join(err, sweepTemporary(s.local))
		}
		return err
	}
	return nil
}

// sweepTemporary deletes the temporary files that a crash left while blobs were stored or put
// aside.
func sweepTemporary(dir string) error {
	for _, folder := range []string{partialDir, quarantineDir} {
		names, err := fs.Glob(os.DirFS(filepath.Join(dir, folder)), durable.TempPrefix+"*")
		if err != nil {
			return fmt.Errorf("look for unfinished recordings: %w", err)
		}
		for _, name := range names {
			if err := os.Remove(filepath.Join(dir, folder, name)); err != nil {
				return fmt.Errorf("delete unfinished recording: %w", err)
			}
		}
	}
	return nil
}
