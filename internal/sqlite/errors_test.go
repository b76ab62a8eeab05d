package sqlite

import (
	"context"
	"errors"
	"fmt"
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

// TestARestartMendsNoDamage tells the failures that a restart may mend from the others.
func TestARestartMendsNoDamage(t *testing.T) {
	for _, err := range []error{
		nil, sqlite3.Error{Code: sqlite3.ErrCorrupt}, sqlite3.Error{Code: sqlite3.ErrNotADB}, sqlite3.Error{Code: sqlite3.ErrFull}, syscall.ENOSPC,
		fmt.Errorf("read: %w", sqlite3.Error{Code: sqlite3.ErrBusy}),
	} {
		if !IsAnswer(err) {
			t.Errorf("%v is no answer", err)
		}
	}
	for _, err := range []error{context.DeadlineExceeded, errors.New("closed"), sqlite3.Error{Code: sqlite3.ErrIoErr}, sqlite3.Error{Code: sqlite3.ErrCantOpen}} {
		if IsAnswer(err) {
			t.Errorf("%v is an answer", err)
		}
	}
}

// TestARefusedCommitMayBeTriedAgain has a hook refuse a commit, as a failing disk does, and tells
// that from a value that a table takes never.
func TestARefusedCommitMayBeTriedAgain(t *testing.T) {
	refused, forbidden := sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintCommitHook}, sqlite3.Error{Code: sqlite3.ErrConstraint, ExtendedCode: sqlite3.ErrConstraintNotNull}
	if !IsPassing(refused) || IsRefusedValue(refused) {
		t.Error("a refused commit is one for good")
	}
	if IsPassing(forbidden) || !IsRefusedValue(forbidden) {
		t.Error("a forbidden value may be tried again")
	}
}
