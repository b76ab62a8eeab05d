package api

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// guessStep and toldStep are how long a lowered limit is believed without
	// another answer that says so: guessed from a bare 429, told by a header.
	guessStep    = 5 * time.Minute
	maxGuessStep = time.Hour
	toldStep     = 30 * time.Minute
	// firstRefusal is the wait after a 429 that names no time; it doubles up to
	// the window's length.
	firstRefusal = 10 * time.Second
	// longestWait is how long calls wait by themselves for the time before which
	// the service does not want to be asked. Beyond it they fail, see BlockedError.
	longestWait = 24 * time.Hour
	// maxRetryAfter is the longest wait that a Retry-After is taken for.
	maxRetryAfter = 10 * 365 * 24 * time.Hour
)

// answered books the end of a call that was or may have been sent: its slot is
// held for a window from now, longer when there was no answer (status 0), and the answer's headers, if there was an answer,
// are learned from. It returns how long the service wants not to be asked, and
// is to be called once the whole answer has been read.
func (b *Budget) answered(ctx context.Context, s *slot, status int, h http.Header) time.Duration {
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
	class, told := b.learnLimit(s, h, now)
	var wait time.Duration
	if status == http.StatusTooManyRequests {
		wait = b.refused(s, class, told, h, now)
	} else if status != 0 {
		b.refusals = 0
	}
	b.serve()
	keep := len(b.inFlight) == 0 || status == http.StatusTooManyRequests
	b.mu.Unlock()
	if keep {
		// The call is over; its caller's end must not lose what it cost.
		if err := b.save(context.WithoutCancel(ctx)); err != nil {
			b.log.Warn().Err(err).Msg("the rate budget could not be kept")
		}
	}
	return wait
}

// learnLimit reads RateLimit-*, which describe the tightest class of the call.
// Which one that is follows from the limit: more than the narrower class can
// have means the global one.
func (b *Budget) learnLimit(s *slot, h http.Header, now time.Time) (Class, bool) {
	limit, ok := headerInt(h, "RateLimit-Limit")
	if !ok || limit <= 0 {
		return "", false
	}
	which := len(s.classes) - 1
	if limit > nominalLimit(s.classes[which]) {
		which = 0
	}
	class := s.classes[which]
	w := b.windows[class]
	w.told(min(limit, nominalLimit(class)), s.start, now)
	remaining, ok := headerInt(h, "RateLimit-Remaining")
	if !ok {
		return class, true
	}
	// The service has counted more than all that it can have of ours: slots may
	// have come free since it counted, so those of the sending count too.
	ours := s.before[which] + w.granted
	if n := limit - remaining - ours; n > 0 && limit <= nominalLimit(class) {
		reset := windowLength
		if r, ok := headerReset(h, now); ok && r < reset {
			reset = max(r, time.Second)
		}
		w.others = append(w.others, othersCalls{n, now.Add(reset)})
	}
	return class, true
}

// told takes over a limit from an answer to a call sent at sent. A lower one
// counts at once; a higher one only from calls sent after the last answer that
// told a lower one, since answers overtake each other.
func (w *window) told(limit int, sent, now time.Time) {
	switch nominal := nominalLimit(w.class); {
	case limit < nominal && limit <= w.limit:
		w.limit = limit
		w.lowered = lowering{since: now, step: toldStep, next: now.Add(toldStep)}
	case limit > w.limit && !sent.Before(w.lowered.since):
		w.limit = limit
		if limit == nominal {
			w.lowered = lowering{}
		} else {
			w.lowered = lowering{since: now, step: toldStep, next: now.Add(toldStep)}
		}
	}
}

// refused learns from a 429 and returns the wait it means. The whole connection
// waits, whatever class was full: that is what the service asks for.
func (b *Budget) refused(s *slot, class Class, told bool, h http.Header, now time.Time) time.Duration {
	wait, ok := RetryAfter(h, now)
	if !ok {
		wait, ok = headerReset(h, now)
	}
	if !ok {
		wait = min(firstRefusal<<min(b.refusals, 4), windowLength)
		b.refusals++
	}
	narrow := b.windows[s.classes[len(s.classes)-1]]
	if !told && len(s.classes) > 1 && narrow.own() > elevatedLimit {
		narrow.guessLowered(now)
	}
	jitter := time.Duration(b.random() * float64(min(wait/20+100*time.Millisecond, 2*time.Second)))
	b.windows[s.classes[0]].block(now.Add(wait + jitter))
	b.log.Warn().Str("account", b.connection).Str("class", string(narrow.class)).Int("limit", narrow.limit).
		Bool("told", told).Dur("wait", wait).Msg("the service refused a call: rate limit")
	return wait
}

// guessLowered takes a bare 429, met while the limit was kept, to mean the
// elevated state, and is slower to leave it the second time.
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

// RetryAfter reads the Retry-After header, seconds or an HTTP date, as a wait
// from now; ok is false when there is none that can be read. A date is measured
// by the service's own clock where the answer has a Date. One in the past is no
// wait.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(t.Sub(theirClock(h, now)), 0), maxRetryAfter), true
}

// theirClock is the service's, where the answer tells it.
func theirClock(h http.Header, now time.Time) time.Time {
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		return theirs
	}
	return now
}

// headerReset reads RateLimit-Reset, the time that is left in the window: seconds,
// or a Unix time, either of them also in milliseconds where it can only be that.
// Windows are a minute long, so that a thousand and more are milliseconds.
func headerReset(h http.Header, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseFloat(leading(h.Get("RateLimit-Reset")), 64)
	if err != nil {
		return 0, false
	}
	epoch := float64(theirClock(h, now).UnixMilli())
	switch {
	case n >= 1e11:
		n = max(n-epoch, 0) / 1000
	case n >= 1e9:
		n = max(n*1000-epoch, 0) / 1000
	case n >= 1000:
		n /= 1000
	}
	wait, ok := seconds(n)
	return min(wait, longestWait), ok
}

func seconds(s float64) (time.Duration, bool) {
	if math.IsNaN(s) || s < 0 {
		return 0, false
	}
	return time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second)), true
}

func headerInt(h http.Header, name string) (int, bool) {
	n, err := strconv.Atoi(leading(h.Get(name)))
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	return n, true
}

// leading cuts a header value such as "30, 30;w=60" down to its first item.
func leading(v string) string {
	if i := strings.IndexAny(v, ",;"); i >= 0 {
		v = v[:i]
	}
	return strings.TrimSpace(v)
}
