package limit

import (
	"slices"
	"sync"
	"time"
)

// budget is one class of one caller: a credential, or an app for tokens.
type budget struct {
	caller string
	class  Class
}

// Limiter counts calls by caller and class. It is safe for concurrent use.
type Limiter struct {
	mu       sync.Mutex // guards all below
	settings Settings
	limits   [classes]int
	calls    map[budget][]time.Time // of the current window, oldest first
	swept    time.Time
}

// New returns a Limiter with the limits of section 8.
func New() *Limiter {
	l := &Limiter{calls: make(map[budget][]time.Time)}
	l.Apply(Settings{})
	return l
}

// Apply changes the limits from the next call on. Calls that were counted stay: a
// fixed window that was a sliding one began with the oldest of them.
func (l *Limiter) Apply(s Settings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s = s.withDefaults()
	l.settings = s
	l.limits = [classes]int{Global: s.Global, Heavy: s.Heavy, Download: s.DownloadLimit, Token: tokenLimit}
	if s.Elevated {
		l.limits[Heavy] = elevatedLimit
	}
}

// Settings returns the settings in force; Heavy is as it is without Elevated.
func (l *Limiter) Settings() Settings {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settings
}

// Take counts one call of caller in all the classes, or in none of them when one
// is used up. It returns the quota of the tightest class after the call, and
// whether the call may go on.
func (l *Limiter) Take(caller string, now time.Time, charged ...Class) (Quota, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	ok := true
	for _, c := range charged {
		b := budget{caller, c}
		l.calls[b] = l.counted(l.calls[b], now)
		ok = ok && len(l.calls[b]) < l.limits[c]
	}
	if ok {
		for _, c := range charged {
			b := budget{caller, c}
			l.calls[b] = append(l.calls[b], now)
		}
	}
	return l.tightest(caller, now, charged), ok
}

// GiveBack uncounts a call that was let through at taken and is refused after all. It
// returns the quota of the tightest class after that.
func (l *Limiter) GiveBack(caller string, taken, now time.Time, charged ...Class) Quota {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range charged {
		b := budget{caller, c}
		calls := l.counted(l.calls[b], now)
		if i := slices.IndexFunc(calls, taken.Equal); i >= 0 {
			if l.settings.Window == Fixed {
				i = len(calls) - 1 // others were told when the window ends, which began with the first
			}
			calls = slices.Delete(calls, i, i+1)
		}
		l.calls[b] = calls
	}
	return l.tightest(caller, now, charged)
}

// tightest returns the quota of the tightest of the classes.
func (l *Limiter) tightest(caller string, now time.Time, charged []Class) (tightest Quota) {
	for i, c := range charged {
		q := l.quota(l.calls[budget{caller, c}], l.limits[c], now)
		if i == 0 || q.isTighter(tightest) {
			tightest = q
		}
	}
	return tightest
}

// Unused returns the quota of a caller without calls: an answer to a request
// without a credential describes it.
func (l *Limiter) Unused(c Class) Quota {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Quota{Limit: l.limits[c], Remaining: l.limits[c]}
}

// counted returns the calls that still count at now.
func (l *Limiter) counted(calls []time.Time, now time.Time) []time.Time {
	if l.settings.Window == Fixed {
		if len(calls) > 0 && now.Sub(calls[0]) >= windowLength {
			return calls[:0]
		}
		return calls
	}
	n := 0
	for n < len(calls) && now.Sub(calls[n]) >= windowLength {
		n++
	}
	return append(calls[:0], calls[n:]...)
}

// quota describes a window that holds calls.
func (l *Limiter) quota(calls []time.Time, limit int, now time.Time) Quota {
	q := Quota{Limit: limit, Remaining: max(limit-len(calls), 0), Reset: windowLength}
	if len(calls) == 0 {
		return q
	}
	last := calls[len(calls)-1]
	if l.settings.Window == Fixed {
		last = calls[0]
	}
	q.Reset = windowLength - now.Sub(last)
	if q.Remaining == 0 {
		q.Retry = q.Reset
		if l.settings.Window == Sliding {
			q.Retry = windowLength - now.Sub(calls[len(calls)-limit])
		}
	}
	return q
}

// sweep forgets, once a window, the callers without a call in it.
func (l *Limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < windowLength {
		return
	}
	l.swept = now
	for b, calls := range l.calls {
		if l.calls[b] = l.counted(calls, now); len(l.calls[b]) == 0 {
			delete(l.calls, b)
		}
	}
}
