package testrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small file system that a test fills.
type Disk struct {
	Dir string

	t       testing.TB
	ballast string
}

// SmallDisk mounts a file system of some megabytes, or skips the test.
func SmallDisk(t testing.TB, megabytes int) Disk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes)); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return Disk{dir, t, filepath.Join(dir, "ballast")}
}

// Fill takes the room that is left.
func (d Disk) Fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	for size := 1 << 20; size >= 512; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

// Clear gives back the room that Fill took.
func (d Disk) Clear() {
	d.t.Helper()
	if err := os.Remove(d.ballast); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
}

// SetReadOnly mounts the file system anew, read-only or not. It fails the test while a file
// is open for writing.
func (d Disk) SetReadOnly(readOnly bool) {
	d.t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if readOnly {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("", d.Dir, "", flags, ""); err != nil {
		d.t.Fatal(err)
	}
}
