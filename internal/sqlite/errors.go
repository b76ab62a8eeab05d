package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"minutebook/internal/durable"
)

var (
	// ErrNewer is the error of a database that a newer Minutebook wrote.
	ErrNewer = errors.New("database is from a newer version")
	// ErrLocked is the error of a write that waited in vain for another program that writes.
	ErrLocked = errors.New("another program has locked it")
	// ErrDiskFull is the error of a write without room on the disk. Nothing was
	// written, and the write succeeds again once there is room.
	ErrDiskFull = errors.New("the disk is full: make room in the data directory")
)

// WrapDiskFull wraps the error of a full disk, or of a quota that is used up, in
// [ErrDiskFull]. It returns any other error as it is.
func WrapDiskFull(err error) error {
	var lite sqlite3.Error
	isFull := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if errors.As(err, &lite) {
		isFull = isFull || lite.Code == sqlite3.ErrFull || lite.SystemErrno == syscall.ENOSPC || lite.SystemErrno == syscall.EDQUOT
	}
	if !isFull || errors.Is(err, ErrDiskFull) {
		return err
	}
	return fmt.Errorf("%w (%w)", ErrDiskFull, err)
}

// explainLock wraps the error of a database at path that another program has locked in
// [ErrLocked]. It returns any other error as it is.
func explainLock(path string, err error) error {
	var lite sqlite3.Error
	if !errors.As(err, &lite) || lite.Code != sqlite3.ErrBusy && lite.Code != sqlite3.ErrLocked {
		return err
	}
	return fmt.Errorf("write %s: %w (%w); end that program", path, ErrLocked, err)
}

// CheckLock fails with [ErrLocked] when a database cannot be written for longer than a time,
// because another program writes it.
func CheckLock(ctx context.Context, path string, patience time.Duration) error {
	db := Connect(path, fmt.Sprintf("?mode=rw&_txlock=immediate&_busy_timeout=%d", patience.Milliseconds()), nil)
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return explainLock(path, err)
	}
	return tx.Rollback()
}

// explainAccess adds to an error that SQLite may not write how this process may.
func explainAccess(path string, err error) error {
	var lite sqlite3.Error
	if !errors.As(err, &lite) || lite.Code != sqlite3.ErrReadonly && lite.SystemErrno != syscall.EACCES {
		return err
	}
	return durable.ExplainAccess(filepath.Dir(path), fmt.Errorf("%w (%w)", err, fs.ErrPermission))
}

// IsDamaged reports whether SQLite found a file malformed, or no database at all.
func IsDamaged(err error) bool {
	var lite sqlite3.Error
	return errors.As(err, &lite) && (lite.Code == sqlite3.ErrCorrupt || lite.Code == sqlite3.ErrNotADB)
}

// IsPassing reports whether SQLite failed because of the machine: its disk, its memory or
// a lock. The same may succeed later. So may a commit that a hook refused, as tests have it
// instead of a failing disk.
func IsPassing(err error) bool {
	var lite sqlite3.Error
	if !errors.As(err, &lite) {
		return false
	}
	if lite.ExtendedCode == sqlite3.ErrConstraintCommitHook {
		return true
	}
	switch lite.Code {
	case sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrNomem, sqlite3.ErrBusy, sqlite3.ErrLocked:
		return true
	}
	return false
}

// IsAnswer reports whether the result of a read is an answer: a value, damage, a full disk or
// the lock of another program. It is not where the same may be read by a process that begins
// anew.
func IsAnswer(err error) bool {
	return err == nil || IsDamaged(err) || errors.Is(WrapDiskFull(err), ErrDiskFull) || errors.Is(explainLock("", err), ErrLocked)
}

// IsRefusedValue reports whether SQLite refuses a value for good: trying again
// fails again.
func IsRefusedValue(err error) bool {
	var lite sqlite3.Error
	if IsPassing(err) || !errors.As(err, &lite) {
		return false
	}
	switch lite.Code {
	case sqlite3.ErrConstraint, sqlite3.ErrMismatch, sqlite3.ErrTooBig, sqlite3.ErrRange:
		return true
	}
	return false
}
