package archive

import (
	"errors"
	"fmt"

	"minutebook/archive/media"
	"minutebook/internal/sqlite"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrInUse: another process owns the data directory.
	ErrInUse = errors.New("data directory is in use")
	// ErrNoArchive: there is no archive in the directory and none was to be created.
	ErrNoArchive = errors.New("no archive here")
	// ErrNotFound: the archive, or its store of recordings, does not have it.
	ErrNotFound = media.ErrNotFound
	// ErrNoBlob: the store does not hold the recording's bytes.
	ErrNoBlob = errors.New("the recording is not in the store")
	// ErrForgotten: the meeting was erased with forget.
	ErrForgotten = errors.New("meeting was forgotten")
	// ErrUnreadable: the bytes of a stored version of a meeting are damaged.
	ErrUnreadable = errors.New("a stored version is damaged; run minutebook verify --repair")
	// ErrForgottenMeanwhile ends a work that had a copy of a meeting, see [Archive.UntilForget].
	ErrForgottenMeanwhile = errors.New("a meeting was forgotten meanwhile")
	// ErrForeignEpoch: a position is not of this archive's log; start over.
	ErrForeignEpoch = errors.New("position is not of this archive's change log")
	// ErrDamaged: a database of the archive is missing, empty or malformed.
	ErrDamaged = errors.New("a database of the archive is damaged; stop the daemon, keep the data directory aside and restore a backup into a new one (minutebook restore)")
	// ErrClosed: the archive was closed while, or before, it was asked.
	ErrClosed = errors.New("archive is closed")
)

// ObservationError is an observation that cannot be applied, however often that is
// tried. Any other error of Apply is of the archive or the machine, and passes.
type ObservationError struct {
	RecordingID int64
	Err         error
}

// Error names the meeting and the fault of the observation.
func (e *ObservationError) Error() string {
	return fmt.Sprintf("apply observation of %d: %v", e.RecordingID, e.Err)
}

// Unwrap returns the fault.
func (e *ObservationError) Unwrap() error { return e.Err }

// observationError makes an error of applying an observation one that says
// whether trying again may help: SQLite refuses some values for good.
func observationError(id int64, err error) error {
	if sqlite.IsRefusedValue(err) {
		return &ObservationError{id, err}
	}
	return fmt.Errorf("apply observation of %d: %w", id, err)
}

// inUseError names the process that owns a data directory.
type inUseError struct {
	dir string
	pid int // 0 when the owner has not written it yet
}

// Error names the owner of the directory, and a remedy.
func (e *inUseError) Error() string {
	if e.pid == 0 {
		return fmt.Sprintf("open %s: data directory is in use by another process; stop it first, or wait where it has just begun", e.dir)
	}
	return fmt.Sprintf("open %s: data directory is in use by process %d; stop it first, or wait where it has just begun", e.dir, e.pid)
}

// Is makes errors.Is(err, ErrInUse) true.
func (e *inUseError) Is(target error) bool { return target == ErrInUse }

// markDamaged marks an error of a database that is not one any more as ErrDamaged.
func markDamaged(err error) error {
	if !sqlite.IsDamaged(err) || errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
