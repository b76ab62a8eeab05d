package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// limiter is the service's side of the limits: it counts a call when it sees it.
type limiter struct {
	mu      sync.Mutex
	fixed   bool
	headers bool
	all     int // the limit of all calls
	heavy   int // the heavy limit
	loads   int // the limit of download requests
	calls   map[Class][]time.Time
	refused int
	served  int
}

func newLimiter() *limiter {
	return &limiter{headers: true, all: nominalLimit(ClassGlobal), heavy: 30, loads: 30, calls: map[Class][]time.Time{}}
}

func (l *limiter) limit(c Class) int {
	switch c {
	case ClassHeavy:
		return l.heavy
	case ClassDownload:
		return l.loads
	}
	return l.all
}

// counted returns the number of calls in the window at now, and the time until it falls.
func (l *limiter) counted(c Class, now time.Time) (int, time.Duration) {
	begin := now.Add(-time.Minute)
	if l.fixed {
		begin = now.Truncate(time.Minute).Add(-1)
	}
	kept := l.calls[c][:0]
	for _, t := range l.calls[c] {
		if t.After(begin) {
			kept = append(kept, t)
		}
	}
	l.calls[c] = kept
	if l.fixed {
		return len(kept), now.Truncate(time.Minute).Add(time.Minute).Sub(now)
	}
	if excess := len(kept) - l.limit(c); excess >= 0 {
		return len(kept), kept[excess].Add(time.Minute).Sub(now)
	}
	return len(kept), time.Minute
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	classes := []Class{ClassGlobal}
	if r.URL.Query().Get("include_transcript") == "true" {
		classes = append(classes, ClassHeavy)
	}
	if strings.HasSuffix(r.URL.Path, "/download") {
		classes = append(classes, ClassDownload)
	}
	for _, c := range classes {
		if n, wait := l.counted(c, now); n >= l.limit(c) {
			l.refused++
			l.describe(w, c, now)
			w.Header().Set("Retry-After", fmt.Sprint(int(ceilSecond(wait).Seconds())))
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
	}
	for _, c := range classes {
		l.calls[c] = append(l.calls[c], now)
	}
	l.served++
	l.describe(w, classes[len(classes)-1], now)
	fmt.Fprint(w, `{"items":[],"next_cursor":null,"download_id":"d","recording_id":1,"status":"processing"}`)
}

func (l *limiter) describe(w http.ResponseWriter, c Class, now time.Time) {
	if !l.headers {
		return
	}
	n, reset := l.counted(c, now)
	w.Header().Set("RateLimit-Limit", fmt.Sprint(l.limit(c)))
	w.Header().Set("RateLimit-Remaining", fmt.Sprint(max(l.limit(c)-n, 0)))
	w.Header().Set("RateLimit-Reset", fmt.Sprint(int(ceilSecond(reset).Seconds())))
}

func ceilSecond(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// watch sees calls leave and answers arrive, as the client does.
type watch struct {
	http.RoundTripper
	mu       sync.Mutex
	inFlight int
	first    int       // calls in flight when the first 429 arrived
	refused  int       // 429s that arrived
	until    time.Time // before which the service does not want to be asked
	early    int       // calls that left before
}

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if time.Now().Before(w.until) {
		w.early++
	}
	w.inFlight++
	w.mu.Unlock()
	resp, err := w.RoundTripper.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		if w.refused++; w.refused == 1 {
			w.first = w.inFlight
		}
		wait, _ := RetryAfter(resp.Header, time.Now())
		if u := time.Now().Add(wait); u.After(w.until) {
			w.until = u
		}
	}
	w.inFlight--
	return resp, err
}
