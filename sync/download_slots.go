package syncer

import (
	"context"
	"slices"
	"sync"
	"time"

	"minutebook/archive"
)

// prioritySemaphore limits how many fetches, or requests of an account, go on at a
// time. Of those that wait, the one with the earliest expiry is next.
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

// openLinks returns the open downloads as the pacer sees them, without those that do not go on
// because the service refuses their account's calls, or answers none for long, and without those
// that it does not finish generating: their places are other recordings'. Of the latter maxOpen at
// most are left out, since a service that finishes none is not asked for all. It also returns the
// recordings of all of them, with those too that failed in a person's run: they wait for the next
// one.
func (l *downloader) openLinks(ctx context.Context, once bool) (links []openLink, ids map[int64]bool) {
	blocked := map[string]bool{}
	accounts, _ := l.s.accounts.all()
	for _, a := range accounts {
		until, err := l.blockedUntil(ctx, a)
		blocked[a.Name] = err == nil && !until.IsZero()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ids = make(map[int64]bool, len(l.tasks))
	now, patience, unfinished := l.s.now(), l.pace.patience(), 0
	for id, t := range l.tasks {
		ids[id] = true
		isRequested := t.row.State == archive.DownloadRequested
		if isRequested && now.Sub(t.row.RequestedAt) > patience && unfinished < maxOpen {
			unfinished++
			continue
		}
		isBlocked := blocked[t.row.Account] && (isRequested || !t.asked.IsZero())
		if !isBlocked && !t.waitsLong(now) {
			links = append(links, openLink{Expires: t.row.ExpiresAt, Left: max(0, t.row.Size-t.row.Fetched)})
		}
	}
	if once {
		for id := range l.failed {
			ids[id] = true
		}
	}
	return links, ids
}

// busyAccounts returns the accounts of which a request has waited for longestBlock, sorted: own
// work of a higher priority, or another program, takes their limit.
func (l *downloader) busyAccounts() (busy []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tasks {
		if t.row.State == archive.DownloadWanted && t.waitsLong(l.s.now()) {
			busy = append(busy, t.row.Account)
		}
	}
	slices.Sort(busy)
	return slices.Compact(busy)
}

// waitsLong reports whether a call for the recording has waited for longestBlock. The caller has
// the downloader's lock.
func (t *downloadTask) waitsLong(now time.Time) bool {
	return !t.asked.IsZero() && now.Sub(t.asked) >= longestBlock
}

// noteCall notes that a call for a recording waits or is under way, until end is called.
func (l *downloader) noteCall(t *downloadTask) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.asked = l.s.now()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.waitsLong(l.s.now()) {
			l.wake() // its account may be busy no more
		}
		t.asked = time.Time{}
	}
}
