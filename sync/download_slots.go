package syncer

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slots hands out a number of places for fetches, to the earliest expiry first.
type prioritySemaphore struct {
	mu      sync.Mutex // guards what follows
	free    int
	waiting []*waiter
}

type waiter struct {
	expires time.Time
	ready   chan struct{}
}

func newPrioritySemaphore(n int) *prioritySemaphore { return &prioritySemaphore{free: n} }

// take waits for a place and returns the way to give it back.
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
		s.release() // it was handed over just now
	}
	return nil, ctx.Err()
}

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
