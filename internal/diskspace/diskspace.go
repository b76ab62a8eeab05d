// Package diskspace reads how much room a disk has. It keeps no state.
package diskspace

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Read returns the bytes of a directory's file system that this program may still write,
// and its size in bytes.
func Read(dir string) (free, size int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("read how much space the disk has: %w", err)
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}

// Used returns the bytes of the files below a directory. One that cannot be read, or goes away
// meanwhile, is not counted.
func Used(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// CheckRoom fails where the file system of a directory has no room for a copy of so many bytes,
// with some room left.
func CheckRoom(dir string, need int64) error {
	const spare = 256 << 20
	free, size, err := Read(dir)
	need += min(spare, size/20)
	if err == nil && free < need {
		err = fmt.Errorf("a copy of the databases needs %d bytes in %s, and %d are free: make room there", need, dir, free)
	}
	return err
}
