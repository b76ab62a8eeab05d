package service

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// limitWindow is the length of every limit's window (section 8).
const limitWindow = 60 * time.Second

// Window says how calls are counted (section 8 does not): WindowFixed counts
// from a credential's first call until 60 s later and then afresh,
// WindowSliding counts the calls of the last 60 s at every moment.
type Window string

// The two kinds of window. The zero value means WindowFixed.
const (
	WindowFixed   Window = "fixed"
	WindowSliding Window = "sliding"
)

// check returns the window that is meant, or why there is none of that name.
func (w Window) check() (Window, error) {
	switch w {
	case "":
		return WindowFixed, nil
	case WindowFixed, WindowSliding:
		return w, nil
	}
	return "", fmt.Errorf("choose window %q: it is fixed or sliding", w)
}

// limitClass is one of the budgets of section 8.
type limitClass int

const (
	classGlobal limitClass = iota
	classHeavy
	classDownload
	classToken
	classCount
)

// limitKey is one budget of one caller: a credential, or an app for tokens.
type limitKey struct {
	caller string
	class  limitClass
}

// quota is what one class of one caller has left after a call.
type quota struct {
	limit, remaining int
	reset            time.Duration // until the whole limit is free again
	retry            time.Duration // until one call is free; 0 when one is
}

// limiter counts calls by caller and class. It is exact for both kinds of
// window: a call that is refused is counted nowhere. Its counts live in memory
// and begin anew with the process.
type limiter struct {
	mu     sync.Mutex // guards all below
	set    Limits     // what apply was given
	window Window
	limit  [classCount]int
	calls  map[limitKey][]time.Time // of the current window, oldest first
	swept  time.Time
}

// newLimiter returns a limiter with the limits of section 8.
func newLimiter(window Window) (*limiter, error) {
	window, err := window.check()
	if err != nil {
		return nil, err
	}
	return &limiter{
		window: window,
		limit:  [classCount]int{classGlobal: globalLimit, classHeavy: heavyLimit, classDownload: downloadLimit, classToken: 60},
		calls:  make(map[limitKey][]time.Time),
	}, nil
}

// apply changes the limits from the next call on. Calls that count stay: a fixed
// window that was a sliding one began with the oldest of them.
func (l *limiter) apply(set Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set, l.window = set, set.Window
	l.limit[classGlobal], l.limit[classHeavy], l.limit[classDownload] = set.Global, set.Heavy, set.DownloadLimit
	if set.Elevated {
		l.limit[classHeavy] = heavyLimitElevated
	}
}

// take counts one call of caller in all the classes, or in none of them when
// one has no room. It returns the tightest class's quota after the call and
// whether the call may go on.
func (l *limiter) take(caller string, now time.Time, classes ...limitClass) (quota, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	ok := true
	for _, c := range classes {
		k := limitKey{caller, c}
		l.calls[k] = l.current(l.calls[k], now)
		if len(l.calls[k]) >= l.limit[c] {
			ok = false
		}
	}
	var tightest quota
	for i, c := range classes {
		k := limitKey{caller, c}
		if ok {
			l.calls[k] = append(l.calls[k], now)
		}
		q := l.quota(l.calls[k], l.limit[c], now)
		if i == 0 || tighter(q, tightest) {
			tightest = q
		}
	}
	return tightest, ok
}

// look returns the quota of a caller that has not made a call: what an answer
// without a credential describes.
func (l *limiter) look(class limitClass) quota {
	l.mu.Lock()
	defer l.mu.Unlock()
	return quota{limit: l.limit[class], remaining: l.limit[class]}
}

// tighter orders quotas: a longer wait first, then fewer calls left, then the
// smaller limit.
func tighter(a, b quota) bool {
	if a.retry != b.retry {
		return a.retry > b.retry
	}
	if a.remaining != b.remaining {
		return a.remaining < b.remaining
	}
	return a.limit < b.limit
}

// current drops from calls what no longer counts at now.
func (l *limiter) current(calls []time.Time, now time.Time) []time.Time {
	if l.window == WindowFixed {
		if len(calls) > 0 && now.Sub(calls[0]) >= limitWindow {
			return calls[:0]
		}
		return calls
	}
	n := 0
	for n < len(calls) && now.Sub(calls[n]) >= limitWindow {
		n++
	}
	return append(calls[:0], calls[n:]...)
}

// quota describes a window that holds calls.
func (l *limiter) quota(calls []time.Time, limit int, now time.Time) quota {
	q := quota{limit: limit, remaining: max(limit-len(calls), 0), reset: limitWindow}
	if len(calls) == 0 {
		if limit == 0 {
			q.retry = limitWindow
		}
		return q
	}
	whole := calls[len(calls)-1]
	if l.window == WindowFixed {
		whole = calls[0]
	}
	q.reset = limitWindow - now.Sub(whole)
	if q.remaining == 0 {
		q.retry = q.reset
		if l.window == WindowSliding && limit > 0 {
			q.retry = limitWindow - now.Sub(calls[len(calls)-limit])
		}
	}
	return q
}

// sweep forgets, once a window, the callers that have made no call in it.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < limitWindow {
		return
	}
	l.swept = now
	for k, calls := range l.calls {
		if l.calls[k] = l.current(calls, now); len(l.calls[k]) == 0 {
			delete(l.calls, k)
		}
	}
}

// writeHeaders writes the RateLimit fields of section 8, in whole seconds
// rounded up, so that a caller who waits as long is never early.
func (q quota) writeHeaders(h http.Header) {
	h.Set("RateLimit-Limit", strconv.Itoa(q.limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(q.remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(wholeSeconds(q.reset)))
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
