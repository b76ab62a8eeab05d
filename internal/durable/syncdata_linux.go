package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SyncData makes the content and the length of f survive a loss of power. After
// an error, nothing is known about the bytes written since the last success, even
// when a later call succeeds.
func SyncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("sync %s: %w", f.Name(), err)
		}
	}
}

// Uncache tells the system that it may drop the synced content of f from memory.
// It is a hint: nothing is lost and nothing fails.
func Uncache(f *os.File) { unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
