package syncer

import (
	"context"
	"time"
)

// clockCheck is how often whoever waits for a time reads the clock, which may have been set.
// The timers of a machine do not count its sleep.
const clockCheck = 5 * time.Minute

// hasPassed reports whether an interval has passed since a time. A time in the future was written
// by a wrong clock, which puts nothing off.
func hasPassed(at, now time.Time, interval time.Duration) bool {
	return at.After(now) || now.Sub(at) >= interval
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// waitForChange waits until next, but no longer than clockCheck, or until change is
// closed or sends, or ctx ends. A zero next is never reached; one that is not after now
// is there, as where it passed between the reading of next and of now.
func waitForChange(ctx context.Context, change <-chan struct{}, next, now time.Time) {
	var alarm <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(min(next.Sub(now), clockCheck))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-change:
	case <-alarm:
	}
}
