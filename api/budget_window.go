package api

import "time"

// window is one class's share of a Budget, guarded by the budget's lock.
type window struct {
	class    Class
	limit    int
	inFlight int
	refused  int         // answers 429 since the start to calls whose tightest class this is
	granted  int         // slots granted since the start
	occupied []time.Time // the times at which the slots of answered calls come free, in order
	others   []othersCalls
	blocked  time.Time // no call of this class before
	lowered  lowering
}

// othersCalls are slots taken by another program.
type othersCalls struct {
	n     int
	until time.Time
}

// lowering is the state of a limit below the nominal one.
type lowering struct {
	since time.Time     // the last answer with the lower limit; zero: not lowered
	step  time.Duration // the time without such an answer until a higher limit is tried
	next  time.Time     // the next try of a higher limit
}

// expire frees the slots before now and tries a higher limit where one was lowered.
func (w *window) expire(now time.Time) {
	n := 0
	for n < len(w.occupied) && !w.occupied[n].After(now) {
		n++
	}
	w.occupied = w.occupied[n:]
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

// foreign is the largest known number of slots that other programs have at once.
func (w *window) foreign() int {
	n := 0
	for _, o := range w.others {
		n = max(n, o.n)
	}
	return n
}

// own is an upper bound of our calls in the service's count.
func (w *window) own() int { return w.inFlight + len(w.occupied) }

func (w *window) used() int { return w.own() + w.foreign() }

// isOpen reports whether a call may be sent now, after expire.
func (w *window) isOpen(now time.Time) bool {
	return !w.blocked.After(now) && w.used() < w.limit
}

// nextChange is the next time at which the window may open, or open wider, without
// a further answer; zero when there is none.
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
	if len(w.occupied) > 0 {
		earlier(w.occupied[0])
	}
	for _, o := range w.others {
		earlier(o.until)
	}
	if w.limit < nominalLimit(w.class) {
		earlier(w.lowered.next)
	}
	return next
}

// hold keeps a slot taken until the given time, which may be before the times of
// other slots.
func (w *window) hold(until time.Time) {
	i := len(w.occupied)
	for i > 0 && w.occupied[i-1].After(until) {
		i--
	}
	w.occupied = append(w.occupied, time.Time{})
	copy(w.occupied[i+1:], w.occupied[i:])
	w.occupied[i] = until
}

// block closes the class until t, or until a later time set before.
func (w *window) block(t time.Time) {
	if t.After(w.blocked) {
		w.blocked = t
	}
}
