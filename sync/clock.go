package syncer

import "time"

// elapsed is how long ago something was. A time that lies ahead was noted by a
// clock that was wrong then, or is now: as far ahead as it lies, so long ago it is
// taken to be, so that no clock puts anything off for longer than its interval.
func elapsed(at, now time.Time) time.Duration { return now.Sub(at).Abs() }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
