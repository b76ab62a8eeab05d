package syncer

import (
	"context"
	"slices"
	"sync"
	"time"
)

// prioritySemaphore limits how many fetches go on at a time. Of those that
// wait, the one with the earliest expiry is next.
type prioritySemaphore struct {
	mu      sync.Mutex // guards the fields below
	free    int
	waiting []*waiter
}

// waiter is a caller of acquire that waits.
type waiter struct {
	expires time.Time
	ready   chan struct{}
}

// newPrioritySemaphore returns a semaphore with n places.
func newPrioritySemaphore(n int) *prioritySemaphore { return &prioritySemaphore{free: n} }

// acquire waits for a place. The caller gives it back with release.
func (s *prioritySemaphore) acquire(ctx context.Context, expires time.Time) (release func(), err error) {
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return s.release, nil
	}
	w := &waiter{expires: expires, ready: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.ready:
		return s.release, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		s.release() // release has just handed it the place
	}
	return nil, ctx.Err()
}

// release gives a place to the waiter with the earliest expiry, or frees it.
func (s *prioritySemaphore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	first := 0
	for i, w := range s.waiting {
		if w.expires.Before(s.waiting[first].expires) {
			first = i
		}
	}
	close(s.waiting[first].ready)
	s.waiting = slices.Delete(s.waiting, first, first+1)
}
