package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// guessStep and reportStep are the times for which a lowered limit is believed
	// without a further answer that confirms it: guessed from a bare 429, or
	// reported by a header.
	guessStep    = 5 * time.Minute
	maxGuessStep = time.Hour
	reportStep   = 30 * time.Minute
	// firstRefusal is the wait after a 429 without a time. It doubles up to the
	// window's length.
	firstRefusal = 10 * time.Second
	// longestWait is the longest time that calls wait by themselves while the
	// service refuses calls. For longer times they fail, see [BlockedError].
	longestWait = 24 * time.Hour
	// maxRetryAfter is the longest wait taken from a Retry-After.
	maxRetryAfter = 10 * 365 * 24 * time.Hour
)

// finish records the end of a call that was or may have been sent, after the whole
// answer has been read. The slot stays taken for a window from now, or longer when
// there was no answer (status 0). finish learns from the answer's headers, and
// returns the time for which the service refuses calls.
func (b *Budget) finish(ctx context.Context, s *slot, status int, h http.Header) time.Duration {
	b.mu.Lock()
	now := b.now()
	b.release(s)
	until := now.Add(windowLength + windowMargin)
	if status == 0 {
		until = until.Add(lostMargin)
	}
	for _, c := range s.classes {
		w := b.windows[c]
		w.expire(now)
		w.hold(until)
	}
	class, limitStated := b.learnLimit(s, h, now)
	var wait time.Duration
	if status == http.StatusTooManyRequests {
		wait = b.recordRefusal(s, class, limitStated, h, now)
	} else if status != 0 {
		b.refusals = 0
	}
	b.serve()
	keep := len(b.inFlight) == 0 || status == http.StatusTooManyRequests
	b.mu.Unlock()
	if keep {
		// The call has ended, and its cost is stored even when its caller has gone.
		if err := b.save(context.WithoutCancel(ctx)); err != nil {
			b.log.Warn().Err(err).Msg("the rate budget could not be kept")
		}
	}
	return wait
}

// learnLimit reads RateLimit-*, which describe the tightest class of the call. The
// limit tells the class: a limit above the narrower class's own is the global one.
func (b *Budget) learnLimit(s *slot, h http.Header, now time.Time) (Class, bool) {
	limit, ok := headerInt(h, "RateLimit-Limit")
	if !ok || limit <= 0 {
		return "", false
	}
	index := len(s.classes) - 1
	if limit > nominalLimit(s.classes[index]) {
		index = 0
	}
	class := s.classes[index]
	w := b.windows[class]
	w.setLimit(min(limit, nominalLimit(class)), s.start, now)
	remaining, ok := headerInt(h, "RateLimit-Remaining")
	if !ok {
		return class, true
	}
	// The service has counted more calls than our own. Slots may have come free
	// since it counted, so the slots at the time of sending count too.
	counted := s.before[index] + w.granted
	if n := limit - remaining - counted; n > 0 && limit <= nominalLimit(class) {
		reset := windowLength
		if r, ok := headerReset(h, now); ok && r < reset {
			reset = max(r, time.Second)
		}
		w.others = append(w.others, othersCalls{n, now.Add(reset)})
	}
	return class, true
}

// setLimit adopts a limit from the answer to a call sent at sent. A lower limit
// counts at once. A higher one counts only from calls sent after the last answer
// with a lower one, since answers overtake each other.
func (w *window) setLimit(limit int, sent, now time.Time) {
	switch nominal := nominalLimit(w.class); {
	case limit < nominal && limit <= w.limit:
		w.limit = limit
		w.lowered = lowering{since: now, step: reportStep, next: now.Add(reportStep)}
	case limit > w.limit && !sent.Before(w.lowered.since):
		w.limit = limit
		if limit == nominal {
			w.lowered = lowering{}
		} else {
			w.lowered = lowering{since: now, step: reportStep, next: now.Add(reportStep)}
		}
	}
}

// recordRefusal learns from a 429 and returns the wait. The whole connection waits,
// whatever class was full, as the service demands.
func (b *Budget) recordRefusal(s *slot, class Class, limitStated bool, h http.Header, now time.Time) time.Duration {
	wait, ok := RetryAfter(h, now)
	if !ok {
		wait, ok = headerReset(h, now)
	}
	if !ok {
		wait = min(firstRefusal<<min(b.refusals, 4), windowLength)
		b.refusals++
	}
	tightest := b.windows[s.classes[len(s.classes)-1]]
	tightest.refused++
	if !limitStated && len(s.classes) > 1 && tightest.own() > elevatedLimit {
		tightest.guessLowered(now)
	}
	jitter := time.Duration(b.random() * float64(min(wait/20+100*time.Millisecond, 2*time.Second)))
	b.windows[s.classes[0]].block(now.Add(wait + jitter))
	b.log.Warn().Str("account", b.connection).Str("class", string(tightest.class)).Int("limit", tightest.limit).
		Bool("told", limitStated).Dur("wait", wait).Msg("the service refused a call: rate limit")
	return wait
}

// guessLowered interprets a bare 429 within the limit as the elevated state. The
// second time it leaves that state more slowly.
func (w *window) guessLowered(now time.Time) {
	step := guessStep
	if w.lowered.step > 0 && w.lowered.since.Before(now.Add(-windowLength)) {
		step = min(2*w.lowered.step, maxGuessStep)
	} else if w.lowered.step > 0 {
		step = w.lowered.step
	}
	w.limit = min(w.limit, elevatedLimit)
	w.lowered = lowering{since: now, step: step, next: now.Add(step)}
}

// RetryAfter returns the wait of the Retry-After header, seconds or an HTTP date.
// ok is false when there is none that can be read. A date is measured by the
// service's own clock where the answer has a Date. A date in the past is no wait.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if strings.Trim(v, "0123456789.") == "" { // "Inf" and "1e9", which ParseFloat reads too, are no waits
		s, err := strconv.ParseFloat(v, 64)
		wait, ok := asDuration(s)
		return wait, ok && (err == nil || errors.Is(err, strconv.ErrRange))
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(t.Sub(serviceTime(h, now)), 0), maxRetryAfter), true
}

// serviceTime returns the service's time from the answer's Date, or now without.
func serviceTime(h http.Header, now time.Time) time.Time {
	if serverTime, err := http.ParseTime(h.Get("Date")); err == nil {
		return serverTime
	}
	return now
}

// headerReset reads RateLimit-Reset, the remaining time of the window: seconds or a
// Unix time, or either in milliseconds. Windows are a minute long, so that numbers
// from a thousand are milliseconds.
func headerReset(h http.Header, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseFloat(firstItem(h.Get("RateLimit-Reset")), 64)
	if err != nil {
		return 0, false
	}
	epoch := float64(serviceTime(h, now).UnixMilli())
	switch {
	case n >= 1e11:
		n = max(n-epoch, 0) / 1000
	case n >= 1e9:
		n = max(n*1000-epoch, 0) / 1000
	case n >= 1000:
		n /= 1000
	}
	wait, ok := asDuration(n)
	return min(wait, longestWait), ok
}

func asDuration(s float64) (time.Duration, bool) {
	if math.IsNaN(s) || s < 0 {
		return 0, false
	}
	return time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second)), true
}

func headerInt(h http.Header, name string) (int, bool) {
	n, err := strconv.Atoi(firstItem(h.Get(name)))
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	return n, true
}

// firstItem returns the first item of a header value such as "30, 30;w=60".
func firstItem(v string) string {
	if i := strings.IndexAny(v, ",;"); i >= 0 {
		v = v[:i]
	}
	return strings.TrimSpace(v)
}
