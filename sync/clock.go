package syncer

import (
	"context"
	"time"
)

// elapsed is how long ago something was. A time that lies ahead was noted by a
// clock that was wrong then, or is now: as far ahead as it lies, so long ago it is
// taken to be, so that no clock puts anything off for longer than its interval.
func distance(at, now time.Time) time.Duration { return now.Sub(at).Abs() }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func waitForChange(ctx context.Context, change <-chan struct{}, next, now time.Time) {
	var alarm <-chan time.Time
	if wait := next.Sub(now); !next.IsZero() && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-change:
	case <-alarm:
	}
}
