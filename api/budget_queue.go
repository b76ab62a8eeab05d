package api

import (
	"context"
	"slices"
	"sort"
	"time"
)

// Priority orders the calls that wait for the budget.
type Priority int

// The priorities, lowest first. A context without one has PriorityNight.
const (
	PriorityLater    Priority = iota - 1 // what takes the calls that are left: recordings to ask for, re-reads in rotation
	PriorityNight                        // walks, backfill, re-reads
	PriorityPerson                       // somebody waits for a command
	PriorityFollowUp                     // what a webhook announced
	PriorityDownload                     // links that lapse
)

type priorityKey struct{}

// WithPriority gives the calls made with the returned context a priority.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// PriorityOf returns the priority that WithPriority gave to ctx.
func PriorityOf(ctx context.Context) Priority {
	p, _ := ctx.Value(priorityKey{}).(Priority)
	return min(max(p, PriorityLater), PriorityDownload)
}

// patience is how much younger a call of the highest priority may be and still
// go first. Whoever has waited longer than that goes before all who come later,
// so nothing starves.
func (p Priority) patience() time.Duration {
	switch p {
	case PriorityDownload:
		return 0
	case PriorityFollowUp:
		return time.Minute
	case PriorityPerson:
		return 2 * time.Minute
	case PriorityNight:
		return 15 * time.Minute
	}
	return 30 * time.Minute
}

// nextPage is how long after a call another one may be expected, of a walk
// that reads and applies the page before.
const nextPage = 10 * time.Second

// waiter is a call that waits for its slot.
type waiter struct {
	classes  []Class
	priority Priority
	due      time.Time     // since when it has waited, and its patience
	granted  chan struct{} // closed when slot is set
	slot     *slot
	refused  error // instead of a slot
}

func (w *waiter) needs(c Class) bool { return slices.Contains(w.classes, c) }

// slot is the right to send one call.
type slot struct {
	classes []Class
	start   time.Time
	// before is, for each class, how many of our calls the service may have
	// counted when this one was sent, less those granted until then: with those
	// granted since it bounds what any answer to this call can count of ours.
	before []int
}

// acquire waits until a call of the given classes may be sent. since is when the
// call first asked, for its place in the queue. The slot must be given to
// answered or returned.
func (b *Budget) acquire(ctx context.Context, since time.Time, classes ...Class) (*slot, error) {
	if err := b.Load(ctx); err != nil {
		return nil, err
	}
	priority := PriorityOf(ctx)
	w := &waiter{classes: classes, priority: priority, due: since.Add(priority.patience()), granted: make(chan struct{})}
	b.mu.Lock()
	at := sort.Search(len(b.waiting), func(i int) bool { return b.waiting[i].due.After(w.due) })
	b.waiting = slices.Insert(b.waiting, at, w)
	b.serve()
	b.mu.Unlock()
	select {
	case <-w.granted:
	case <-ctx.Done():
		b.leave(w)
		return nil, context.Cause(ctx)
	}
	if w.refused != nil {
		return nil, w.refused
	}
	if err := b.save(ctx); err != nil {
		b.returned(w.slot)
		return nil, err
	}
	return w.slot, nil
}

// leave takes a waiter whose context has ended out of the queue.
func (b *Budget) leave(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.slot != nil {
		b.release(w.slot)
	} else if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	b.serve()
}

// returned gives back the slot of a call that was never sent.
func (b *Budget) returned(s *slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(s)
	b.serve()
}

func (b *Budget) release(s *slot) {
	if _, ok := b.inFlight[s]; !ok {
		return
	}
	delete(b.inFlight, s)
	b.changes++
	for _, c := range s.classes {
		b.windows[c].inFlight--
	}
}

// serve grants slots to all waiting calls that may go, in their order, and sets
// the timer for the next moment at which another one may. The lock is held.
func (b *Budget) serve() {
	now := b.now()
	for _, w := range b.windows {
		w.expire(now)
	}
	reserved := b.reserved(now)
	b.waiting = slices.DeleteFunc(b.waiting, func(w *waiter) bool {
		for _, c := range w.classes {
			if until := b.windows[c].blocked; until.Sub(now) > longestWait {
				w.refused = &BlockedError{Until: until}
				close(w.granted)
				return true
			}
		}
		if reserved && b.held(w, now) {
			return false
		}
		for _, c := range w.classes {
			if !b.windows[c].open(now) {
				return false
			}
		}
		b.grant(w, now)
		return true
	})
	b.setTimer(now)
}

// reserved tells whether most of the global window is kept for calls that matter
// more than those of PriorityLater. A walk asks for its next page when it has the
// one before, so it is rarely seen waiting when a window opens. Where such work
// waits, or made a call a moment ago, calls that can come later get a quarter of
// the window. With the reads that follow them that is half: the heavy calls keep
// their whole limit. Heavy ones that can come later are held to the end of their
// patience.
func (b *Budget) reserved(now time.Time) bool {
	n := 0
	for n < len(b.later) && now.Sub(b.later[n]) >= windowLength {
		n++
	}
	b.later = b.later[n:]
	return now.Sub(b.worked) < nextPage ||
		slices.ContainsFunc(b.waiting, func(w *waiter) bool { return w.priority.works() })
}

// held tells whether a call has to wait for calls that matter more.
func (b *Budget) held(w *waiter, now time.Time) bool {
	switch {
	case w.priority != PriorityLater:
		return false
	case w.needs(ClassHeavy):
		return now.Before(w.due)
	}
	return len(b.later) >= b.windows[ClassGlobal].limit/4
}

// works tells the priorities of walks, and of what somebody waits for, from those
// of recordings.
func (p Priority) works() bool { return p != PriorityLater && p != PriorityDownload }

func (b *Budget) grant(w *waiter, now time.Time) {
	switch {
	case w.priority == PriorityLater:
		b.later = append(b.later, now)
	case w.priority.works():
		b.worked = now
	}
	w.slot = &slot{classes: w.classes, start: now}
	b.inFlight[w.slot] = struct{}{}
	b.changes++
	for _, c := range w.classes {
		window := b.windows[c]
		w.slot.before = append(w.slot.before, window.own()-window.granted)
		window.inFlight++
		window.granted++
	}
	close(w.granted)
}

// laterChanges are the times at which a call of PriorityLater may go that is held
// back now: when no work is seen any more, and when an earlier one is a window
// old.
func (b *Budget) laterChanges() []time.Time {
	times := []time.Time{b.worked.Add(nextPage)}
	if len(b.later) > 0 {
		times = append(times, b.later[0].Add(windowLength))
	}
	return times
}

func (b *Budget) setTimer(now time.Time) {
	if b.wake != nil {
		b.wake.Stop()
		b.wake = nil
	}
	var next time.Time
	for _, w := range b.waiting {
		if w.priority == PriorityLater {
			for _, t := range append(b.laterChanges(), w.due) {
				if t.After(now) && (next.IsZero() || t.Before(next)) {
					next = t
				}
			}
		}
		for _, c := range w.classes {
			t := b.windows[c].nextChange(now)
			if !t.IsZero() && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	if next.IsZero() {
		return
	}
	b.wake = time.AfterFunc(next.Sub(now), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.serve()
	})
}
