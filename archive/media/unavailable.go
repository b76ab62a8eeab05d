package media

import (
	"context"
	"time"

	"minutebook/internal/bucket"
)

// UnavailableError says that a store did not answer, or refused to. It says nothing
// about a blob, which may be in the store, undamaged.
type UnavailableError = bucket.UnavailableError

// IsUnavailable reports whether an error says that a store could not be used, and
// nothing about a blob.
func IsUnavailable(err error) bool { return bucket.IsUnavailable(err) }

// checkTimeout is how long [Check] waits for a server.
const checkTimeout = 20 * time.Second

// Check asks a store whether it can be used at present. It fails with an
// [UnavailableError]: a bucket is asked for its list, and a directory has to be the one
// that was opened, and not the mount point that an unmounted file system leaves behind. See
// [SetOwner]. It makes the folders of unfinished files.
func Check(ctx context.Context, s Store) error {
	switch s := s.(type) {
	case *s3Store:
		if err := makePartial(s.local); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		if err := s.bucket.Check(ctx); err != nil {
			return err
		}
		return s.claim(ctx, true)
	case *fileStore:
		if err := s.claim(ctx); err != nil {
			return err
		}
		if err := makePartial(s.dir); err != nil {
			return err
		}
		return makePartial(s.local)
	}
	return nil
}
