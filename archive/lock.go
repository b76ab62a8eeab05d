package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// DirLock is the ownership of a data directory: an flock on DIR/lock, which
// also holds the owner's process id for the message of the one refused. The
// kernel drops the lock when the process ends, however it ends.
type DirLock struct{ f *flock.Flock }

// LockDir takes the lock without waiting. It fails with *InUseError when
// another process, or another Open in this one, holds it.
func LockDir(dir string) (*DirLock, error) {
	path := filepath.Join(dir, "lock")
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, &InUseError{Dir: dir, PID: lockOwner(path)}
	}
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := os.WriteFile(path, []byte(pid), 0o600); err != nil {
		f.Unlock()
		return nil, fmt.Errorf("write process id to %s: %w", path, err)
	}
	return &DirLock{f}, nil
}

// lockOwner reads the id that the owner wrote, or 0.
func lockOwner(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

func (l *DirLock) Release() error {
	if err := l.f.Unlock(); err != nil {
		return fmt.Errorf("unlock data directory: %w", err)
	}
	return nil
}
