package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// TestWindowsAreExact compares the limiter with the definition of its windows,
// applied to the list of all calls that were let through.
func TestWindowsAreExact(t *testing.T) {
	for _, window := range []Window{Fixed, Sliding} {
		t.Run(string(window), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := New()
				l.Apply(Settings{Global: 6, Heavy: 3, Window: window})
				now := start
				var passed [classes][]time.Time
				for range rapid.IntRange(1, 200).Draw(t, "calls") {
					now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "wait")) * time.Millisecond)
					charged := []Class{Global}
					if rapid.Bool().Draw(t, "heavy") {
						charged = append(charged, Heavy)
					}
					want := true
					for _, c := range charged {
						want = want && room(window, passed[c], l.limits[c], now)
					}
					q, ok := l.Take("someone", now, charged...)
					if ok != want {
						t.Fatalf("call at %v: passed %v, want %v", now.Sub(start), ok, want)
					}
					if !ok {
						checkRetry(t, window, passed, l.limits, charged, now, q.Retry)
						continue
					}
					if rapid.Bool().Draw(t, "refused after all") {
						l.GiveBack("someone", now, now, charged...)
						continue
					}
					for _, c := range charged {
						passed[c] = append(passed[c], now)
					}
				}
			})
		})
	}
}

// room applies the definition: passed are the calls of one class so far.
func room(window Window, passed []time.Time, limit int, now time.Time) bool {
	n := 0
	if window == Sliding {
		for _, at := range passed {
			if now.Sub(at) < windowLength {
				n++
			}
		}
		return n < limit
	}
	var started time.Time
	for _, at := range append(append([]time.Time{}, passed...), now) {
		if n == 0 || at.Sub(started) >= windowLength {
			started, n = at, 0
		}
		n++
	}
	return n <= limit
}

// checkRetry: a call made after the wait passes, and one made just before it
// would not.
func checkRetry(t *rapid.T, window Window, passed [classes][]time.Time, limits [classes]int, charged []Class, now time.Time, retry time.Duration) {
	for wait, want := range map[time.Duration]bool{retry: true, retry - time.Millisecond: false} {
		got := true
		for _, c := range charged {
			got = got && room(window, passed[c], limits[c], now.Add(wait))
		}
		if got != want {
			t.Fatalf("told to wait %v at %v: after %v there is room %v", retry, now.Sub(start), wait, got)
		}
	}
}

// TestGivingBackKeepsOthersAnswers gives back the first call of a window, in which
// another was refused meanwhile and told when to call again.
func TestGivingBackKeepsOthersAnswers(t *testing.T) {
	for _, window := range []Window{Fixed, Sliding} {
		l := New()
		l.Apply(Settings{Global: 2, Window: window})
		l.Take("someone", start, Global)
		l.Take("someone", start.Add(10*time.Second), Global)
		now := start.Add(20 * time.Second)
		refused, ok := l.Take("someone", now, Global)
		if q := l.GiveBack("someone", start, now, Global); ok || q.Remaining != 1 || window == Fixed && q.Reset != refused.Reset {
			t.Errorf("%s: refused %v with %+v, given back %+v", window, !ok, refused, q)
		}
		later := now.Add(refused.Retry)
		if q, ok := l.Take("someone", later, Global); !ok || window == Fixed && q.Remaining != 1 {
			t.Errorf("%s: after the wait: %v, %+v", window, ok, q)
		}
		if q := l.GiveBack("someone", start, later, Global); window == Fixed && q.Remaining != 1 {
			t.Errorf("%s: a call of an earlier window was given back: %+v", window, q)
		}
	}
}
