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

// failureNoted is how long a failed commit counts as an obstacle. No further one may come:
// a balancer sends nothing to a receiver that is not ready.
const failureNoted = time.Minute

// Obstacle returns the reason why deliveries are refused at present, or "".
func (r *Receiver) Obstacle() string {
	now := r.o.Now()
	failed := r.failed.Load()
	switch {
	case !r.disk.hasRoom(now):
		return "the disk is full"
	case failed != 0 && now.Sub(time.Unix(failed, 0)).Abs() < failureNoted:
		return "deliveries cannot be stored"
	}
	return ""
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
