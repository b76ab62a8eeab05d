package process

import (
	"fmt"
	"syscall"
)

// RefuseCore has the system leave no image of the memory of this process and of the
// programs that it starts when one crashes: meetings and keys would be in it. The crash
// itself is reported by its trace.
func RefuseCore() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &l); err != nil {
		return fmt.Errorf("read the limit of core files: %w", err)
	}
	l.Cur = min(1, l.Max) // less than a file needs; and Linux gives a program that collects images none at exactly 1
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &l); err != nil {
		return fmt.Errorf("limit core files: %w", err)
	}
	return nil
}
