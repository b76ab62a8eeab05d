package sqlite

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"
)

// TestAFileThatMayNotBeWritten names the user and the folder.
func TestAFileThatMayNotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	for _, err := range []error{sqlite3.Error{Code: sqlite3.ErrReadonly}, sqlite3.Error{Code: sqlite3.ErrCantOpen, SystemErrno: syscall.EACCES}} {
		if got := explainAccess(path, err).Error(); !strings.Contains(got, "read and write all of "+filepath.Dir(path)) {
			t.Errorf("%v: %s", err, got)
		}
	}
	if err := error(sqlite3.Error{Code: sqlite3.ErrBusy}); explainAccess(path, err) != err {
		t.Error("a lock is explained as a right")
	}
}
