package receiver

import (
	"path/filepath"
	"sync"
	"time"

	"minutebook/internal/diskspace"
)

// disk knows, to the second, whether there is room to store anything.
type disk struct {
	path string
	min  int64

	mu     sync.Mutex
	at     time.Time
	isFull bool
}

// hasRoom reports whether at least min bytes are free on the inbox's file system. It
// reports true when that is unknown.
func (d *disk) hasRoom(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.at).Abs() < time.Second {
		return !d.isFull
	}
	d.at = now
	free, _, err := diskspace.Read(filepath.Dir(d.path))
	d.isFull = err == nil && free < d.min
	return !d.isFull
}
