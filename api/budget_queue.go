package api

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"
)

// Priority orders the calls that wait for the budget.
type Priority int

// The priorities, lowest first. A context without one has PriorityNight.
const (
	PriorityLater    Priority = iota - 1 // uses spare calls: requests of recordings, re-reads in rotation
	PriorityNight                        // walks, backfill, re-reads
	PriorityPerson                       // somebody waits for a command
	PriorityFollowUp                     // content that a webhook announced
	PriorityDownload                     // links that expire
)

// ErrLongWait is a call that was not made, since the service refuses calls for longer than
// [WithLongestWait] allows.
var ErrLongWait = errors.New("the service refuses calls for too long to wait")

type longestWaitKey struct{}

// WithLongestWait returns a context whose calls fail with [ErrLongWait] when the service refuses
// calls (429) for longer than d, or another call of the same connection renews its token for longer
// than that. An answer that asks for more patience with a call itself (Retry-After) is its error
// ([Error]). They still wait for a free slot.
func WithLongestWait(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, longestWaitKey{}, d)
}

// longestWaitOf returns the time that WithLongestWait gave to ctx; 0: none.
func longestWaitOf(ctx context.Context) time.Duration {
	d, _ := ctx.Value(longestWaitKey{}).(time.Duration)
	return d
}

type priorityKey struct{}

// WithPriority gives the calls made with the returned context a priority.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// priorityOf returns the priority that WithPriority gave to ctx.
func priorityOf(ctx context.Context) Priority {
	p, _ := ctx.Value(priorityKey{}).(Priority)
	return min(max(p, PriorityLater), PriorityDownload)
}

// maxWait is the wait after which a call goes before every later call, so that
// none starves. Before that, calls of a higher priority overtake it.
func (p Priority) maxWait() time.Duration {
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

// nextPage is the longest time in which a walk reads and applies a page before it
// requests the next one.
const nextPage = 10 * time.Second

// waiter is a call that waits for its slot.
type waiter struct {
	classes  []Class
	priority Priority
	due      time.Time     // the start of its wait, plus its patience
	longest  time.Duration // how long it waits while the service refuses calls; 0: longestWait
	granted  chan struct{} // closed when slot is set
	slot     *slot
	refused  error // instead of a slot
}

func (w *waiter) needs(c Class) bool { return slices.Contains(w.classes, c) }

// slot is the permission to send one call.
type slot struct {
	classes []Class
	start   time.Time
	// before is, for each class, the number of our calls that the service may have
	// counted when this one was sent, less those granted until then. Plus those
	// granted since, it limits our calls in the count of any answer to this call.
	before []int
}

// acquire waits until a call of the given classes may be sent. since is the time of
// the call's first request, for its place in the queue. The slot must be passed to
// finish or giveBack.
func (b *Budget) acquire(ctx context.Context, since time.Time, classes ...Class) (*slot, error) {
	if err := b.Load(ctx); err != nil {
		return nil, err
	}
	priority := priorityOf(ctx)
	w := &waiter{classes: classes, priority: priority, due: since.Add(priority.maxWait()), granted: make(chan struct{})}
	w.longest = longestWaitOf(ctx)
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
		b.giveBack(w.slot)
		return nil, err
	}
	return w.slot, nil
}

// isOpenFor reports whether a call with a slot may still be sent: since the slot was granted, it has
// been stored, a token perhaps renewed, and an answer may have refused calls or lowered a limit.
func (b *Budget) isOpenFor(s *slot) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	return !slices.ContainsFunc(s.classes, func(c Class) bool {
		w := b.windows[c]
		w.expire(now)
		return w.blocked.After(now) || w.used() > w.limit
	})
}

// leave removes a waiter whose context has ended from the queue.
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

// giveBack frees the slot of a call that was never sent.
func (b *Budget) giveBack(s *slot) {
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

// serve grants slots to the waiting calls that may go, in their order, and sets the
// timer for the next moment at which another one may. The caller has the lock.
func (b *Budget) serve() {
	now := b.now()
	for _, w := range b.windows {
		w.expire(now)
	}
	reserved := b.isReserved(now)
	b.waiting = slices.DeleteFunc(b.waiting, func(w *waiter) bool {
		for _, c := range w.classes {
			until := b.windows[c].blocked
			switch wait := until.Sub(now); {
			case wait > longestWait:
				w.refused = &BlockedError{Until: byClock(until, now)}
			case w.longest > 0 && wait > w.longest:
				w.refused = ErrLongWait
			default:
				continue
			}
			close(w.granted)
			return true
		}
		if reserved && b.mustWait(w, now) {
			return false
		}
		for _, c := range w.classes {
			if !b.windows[c].isOpen(now) {
				return false
			}
		}
		b.grant(w, now)
		return true
	})
	b.setTimer(now)
}

// isReserved reports whether most of the global window is reserved for calls above
// PriorityLater. A walk requests its next page when it has the one before, so it is
// rarely in the queue when a window opens. While such work waits, or made a call a
// moment ago, calls of PriorityLater get a quarter of the window, at least one call. With the reads
// that follow them that is half: the heavy calls keep their whole limit. Heavy
// calls of PriorityLater wait until the end of their patience.
func (b *Budget) isReserved(now time.Time) bool {
	n := 0
	for n < len(b.later) && now.Sub(b.later[n]) >= windowLength {
		n++
	}
	b.later = b.later[n:]
	return now.Sub(b.worked) < nextPage ||
		slices.ContainsFunc(b.waiting, func(w *waiter) bool { return w.priority.isWork() })
}

// mustWait reports whether a call has to wait for calls of a higher priority.
func (b *Budget) mustWait(w *waiter, now time.Time) bool {
	switch {
	case w.priority != PriorityLater:
		return false
	case w.needs(ClassHeavy):
		return now.Before(w.due)
	}
	return len(b.later) >= max(b.windows[ClassGlobal].limit/4, 1)
}

// isWork reports whether the priority is one of walks or of waiting people, and not
// one of recordings.
func (p Priority) isWork() bool { return p != PriorityLater && p != PriorityDownload }

func (b *Budget) grant(w *waiter, now time.Time) {
	switch {
	case w.priority == PriorityLater:
		b.later = append(b.later, now)
	case w.priority.isWork():
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

// laterChanges returns the times at which a waiting call of PriorityLater may go:
// when the reservation ends, and when an earlier such call is a window old.
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
