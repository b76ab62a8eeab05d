package api

import "time"

// window is one class's share of a Budget, guarded by the budget's lock.
type window struct {
	class    Class
	limit    int
	inFlight int
	granted  int         // slots ever given out
	held     []time.Time // when the slots of answered calls come free, in order
	others   []othersCalls
	blocked  time.Time // no call of this class before
	lowered  lowering
}

// othersCalls are slots that another program is known to hold.
type othersCalls struct {
	n     int
	until time.Time
}

// lowering is what is known of a limit below the nominal one.
type lowering struct {
	since time.Time     // the answer that last said so; zero: not lowered
	step  time.Duration // how long without another such answer until it is tried higher
	next  time.Time     // when it is tried higher the next time
}

// expire forgets what lies behind now and tries lowered limits higher again.
func (w *window) expire(now time.Time) {
	n := 0
	for n < len(w.held) && !w.held[n].After(now) {
		n++
	}
	w.held = w.held[n:]
	kept := w.others[:0]
	for _, o := range w.others {
		if o.until.After(now) {
			kept = append(kept, o)
		}
	}
	w.others = kept
	for w.limit < nominalLimit(w.class) && !w.lowered.next.After(now) {
		// Gently at first: a wrong guess costs one refusal.
		w.limit = min(w.limit+max(1, w.limit-elevatedLimit), nominalLimit(w.class))
		w.lowered.next = w.lowered.next.Add(windowLength + windowMargin)
	}
}

// foreign is the most that other programs are known to hold at once.
func (w *window) foreign() int {
	n := 0
	for _, o := range w.others {
		n = max(n, o.n)
	}
	return n
}

// own is an upper bound of what the service may count of ours.
func (w *window) own() int { return w.inFlight + len(w.held) }

func (w *window) used() int { return w.own() + w.foreign() }

// open tells whether a call may be sent now, after expire.
func (w *window) open(now time.Time) bool {
	return !w.blocked.After(now) && w.used() < w.limit
}

// nextChange is the next time at which the window may open or open wider
// without any further answer; zero when there is none.
func (w *window) nextChange(now time.Time) time.Time {
	if w.blocked.After(now) {
		return w.blocked
	}
	var next time.Time
	earlier := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if len(w.held) > 0 {
		earlier(w.held[0])
	}
	for _, o := range w.others {
		earlier(o.until)
	}
	if w.limit < nominalLimit(w.class) {
		earlier(w.lowered.next)
	}
	return next
}

// hold keeps a slot taken until the given time, which may lie before that of
// slots held already.
func (w *window) hold(until time.Time) {
	i := len(w.held)
	for i > 0 && w.held[i-1].After(until) {
		i--
	}
	w.held = append(w.held, time.Time{})
	copy(w.held[i+1:], w.held[i:])
	w.held[i] = until
}

// block keeps the class closed until t, or longer when it was already.
func (w *window) block(t time.Time) {
	if t.After(w.blocked) {
		w.blocked = t
	}
}
