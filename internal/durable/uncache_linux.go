package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// Uncache tells the system that it may drop the synced content of f from memory.
// It is a hint: nothing is lost and nothing fails.
func Uncache(f *os.File) { unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
