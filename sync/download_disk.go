package syncer

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lowDiskError says that recordings wait for space on the disk.
type lowDiskError struct {
	free, floor, need int64
}

// Error names the free space, the space needed and the remedy.
func (e *lowDiskError) Error() string {
	return fmt.Sprintf("keep the disk from filling up: %d MB are free, %d MB must stay free (media.min_free_bytes) and %d MB are needed; free some space, or lower that minimum",
		e.free>>20, e.floor>>20, e.need>>20)
}

// checkDiskSpace returns a [lowDiskError] if storing that many bytes would
// leave less than MinFree on the disk.
func (s *Syncer) checkDiskSpace(bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Clean(s.archive.Dir()), &st); err != nil {
		return fmt.Errorf("read how much space the disk has: %w", err)
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if free-bytes < s.opt.MinFree {
		return &lowDiskError{free: free, floor: s.opt.MinFree, need: bytes}
	}
	return nil
}
