package syncer

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// diskError says that recordings have to wait for room on the disk.
type lowDiskError struct {
	free, floor, need int64
}

// Error says how much room there is, how much is wanted, and what to do.
func (e *lowDiskError) Error() string {
	return fmt.Sprintf("keep the disk from filling up: %d MB are free, %d MB must stay free (media.min_free_bytes) and %d MB are needed; make room, or lower the floor",
		e.free>>20, e.floor>>20, e.need>>20)
}

// roomFor returns nil when so many bytes can be stored with the floor kept free.
func (s *Syncer) checkDiskSpace(bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Clean(s.archive.Dir()), &st); err != nil {
		return fmt.Errorf("see how much room the disk has: %w", err)
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if free-bytes < s.opt.MinFree {
		return &lowDiskError{free: free, floor: s.opt.MinFree, need: bytes}
	}
	return nil
}
