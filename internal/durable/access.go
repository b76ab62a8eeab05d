package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ExplainAccess adds to an error of using a data directory how this process gets access to
// it. Other errors it returns as they are.
func ExplainAccess(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: mount it so that it can be written to", err)
	case !errors.Is(err, fs.ErrPermission):
		return err
	}
	user := os.Geteuid()
	if info, failed := os.Stat(dir); failed == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != user {
			return fmt.Errorf("%w: %s belongs to the user %d, and this is the user %d: run it as that user, or give the folder to this one (chown -R %d)",
				err, dir, owner.Uid, user, user)
		}
	}
	return fmt.Errorf("%w: let the user %d read and write all of %s", err, user, dir)
}
