package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestExplainAccess names the users and the remedy.
func TestExplainAccess(t *testing.T) {
	dir, denied := t.TempDir(), &fs.PathError{Op: "open", Path: "lock", Err: syscall.EACCES}
	got := ExplainAccess(dir, denied)
	if want := fmt.Sprintf("open lock: permission denied: let the user %d read and write all of %s", os.Geteuid(), dir); got.Error() != want || !errors.Is(got, fs.ErrPermission) {
		t.Errorf("%v, not %s", got, want)
	}
	if got := ExplainAccess("/nowhere", denied); !strings.Contains(got.Error(), "let the user") {
		t.Error(got)
	}
	if got := ExplainAccess(dir, syscall.EROFS); !strings.Contains(got.Error(), "mount it so that it can be written to") {
		t.Error(got)
	}
	if got := ExplainAccess(dir, fs.ErrNotExist); got != fs.ErrNotExist {
		t.Error(got)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root gives directories away")
	}
	if err := os.Chown(dir, 65532, 65532); err != nil {
		t.Skip("directories cannot be given away here: ", err)
	}
	if got := ExplainAccess(dir, denied); !strings.Contains(got.Error(), "belongs to the user 65532, and this is the user 0") {
		t.Error(got)
	}
}
