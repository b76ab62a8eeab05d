package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// longestCall is the longest time after which the service may count a call that was
// in flight when the state was saved.
const longestCall = 10 * time.Minute

// SpentBudget is the stored state of a connection whose newest calls are not known, as in a
// copy of the store: its limits count as used up when the budget begins.
const SpentBudget = `{"v":1,"spent":true}`

// budgetState is the stored state of a budget. Times are Unix milliseconds.
type budgetState struct {
	Version int                   `json:"v"`
	Saved   int64                 `json:"saved,omitempty"`  // the time of saving
	Uptime  int64                 `json:"uptime,omitempty"` // the machine's at the saving, in milliseconds; 0: unknown
	Windows map[Class]windowState `json:"windows"`
	Spent   bool                  `json:"spent,omitempty"` // see SpentBudget
}

type windowState struct {
	Slots    []int64    `json:"held,omitempty"`      // the times at which slots come free
	InFlight []int64    `json:"in_flight,omitempty"` // the times of sending
	Others   [][2]int64 `json:"others,omitempty"`    // number, until
	Blocked  int64      `json:"blocked,omitempty"`
	Limit    int        `json:"limit"`
	Since    int64      `json:"lowered_since,omitempty"`
	Next     int64      `json:"lowered_next,omitempty"`
	StepMS   int64      `json:"lowered_step,omitempty"`
}

// save writes the present state to the store, unless a concurrent call has done so
// since the caller's change: calls granted together share one write.
func (b *Budget) save(ctx context.Context) error {
	if b.store == nil {
		return nil
	}
	b.mu.Lock()
	change := b.changes
	b.mu.Unlock()
	if err := b.lockStore(ctx); err != nil {
		return err
	}
	defer b.unlockStore()
	b.mu.Lock()
	if b.saved >= change {
		b.mu.Unlock()
		return nil
	}
	at := b.changes
	state, err := json.Marshal(b.state(b.now()))
	b.mu.Unlock()
	if err == nil {
		err = b.store.SaveBudget(ctx, b.connection, state)
	}
	if err != nil {
		return fmt.Errorf("keep the rate budget of %s: %w", b.connection, err)
	}
	b.mu.Lock()
	b.saved = at
	b.mu.Unlock()
	return nil
}

// state returns the state for restore. The caller has the lock.
func (b *Budget) state(now time.Time) budgetState {
	millis := func(t time.Time) int64 { return toMillis(byClock(t, now)) }
	st := budgetState{Version: 1, Saved: toMillis(now), Uptime: b.uptime().Milliseconds(), Windows: map[Class]windowState{}}
	for c, w := range b.windows {
		w.expire(now)
		ws := windowState{Limit: w.limit, Blocked: millis(w.blocked), Since: millis(w.lowered.since),
			Next: millis(w.lowered.next), StepMS: w.lowered.step.Milliseconds()}
		for _, t := range w.occupied {
			ws.Slots = append(ws.Slots, ceilMilli(byClock(t, now)))
		}
		for _, o := range w.others {
			ws.Others = append(ws.Others, [2]int64{int64(o.n), ceilMilli(byClock(o.until, now))})
		}
		st.Windows[c] = ws
	}
	for s := range b.inFlight {
		for _, c := range s.classes {
			ws := st.Windows[c]
			ws.InFlight = append(ws.InFlight, millis(s.start))
			st.Windows[c] = ws
		}
	}
	return st
}

// restore adopts a stored state. The service may still count calls that were in
// flight, so they keep their slots like calls without an answer. Times count from
// the saving: after a clock was set back, none is later than it was then. Where the
// machine's uptime is known, none is earlier after a clock was set forward; nothing tells
// how long the machine was off, which may only make them later. Impossibly late times are not believed.
func (b *Budget) restore(raw []byte, now time.Time) error {
	if len(raw) == 0 {
		return nil
	}
	var st budgetState
	if err := json.Unmarshal(raw, &st); err != nil {
		return fmt.Errorf("read the kept budget: %w", err)
	}
	if st.Version != 1 {
		return fmt.Errorf("read the kept budget: version %d is not known", st.Version)
	}
	if st.Spent {
		b.assumeSpent(now)
		return nil
	}
	saved := time.UnixMilli(st.Saved)
	if st.Saved == 0 { // written by an earlier version
		saved = now
	}
	passed := max(now.Sub(saved), 0)
	passed = min(passed, b.sinceUptime(st.Uptime, passed))
	// Adding to now also gives the times a monotonic reading, which no clock moves.
	at := func(ms int64) time.Time { return now.Add(time.UnixMilli(ms).Sub(saved) - passed) }
	for c, ws := range st.Windows {
		if w, ok := b.windows[c]; ok {
			w.restore(ws, now, at)
		}
	}
	return nil
}

// sinceUptime returns the shortest time that can have passed since the machine's uptime was
// saved: when it is less now, the machine has been started since. Where the uptime is not
// known it returns passed, the time by the clock.
func (b *Budget) sinceUptime(saved int64, passed time.Duration) time.Duration {
	up := b.uptime()
	switch then := time.Duration(saved) * time.Millisecond; {
	case up == 0 || saved == 0:
		return passed
	case up < then:
		return up
	default:
		return up - then
	}
}

// restore fills a window from its kept state. The function at reads times: they may be too
// late, and are never too early.
func (w *window) restore(ws windowState, now time.Time, at func(ms int64) time.Time) {
	latest := now.Add(windowLength + windowMargin + lostMargin)
	for _, ms := range ws.Slots {
		w.hold(earliest(at(ms), latest))
	}
	for _, ms := range ws.InFlight {
		if now.Sub(at(ms)) < longestCall {
			w.hold(latest)
		}
	}
	for _, o := range ws.Others {
		w.others = append(w.others, othersCalls{int(o[0]), earliest(at(o[1]), latest)})
	}
	if ws.Limit > 0 && ws.Limit < nominalLimit(w.class) {
		w.limit = ws.Limit
		w.lowered = lowering{at(ws.Since), time.Duration(max(ws.StepMS, guessStep.Milliseconds())) * time.Millisecond,
			earliest(at(ws.Next), now.Add(reportStep))}
	}
	if ws.Blocked > 0 {
		w.blocked = earliest(at(ws.Blocked), now.Add(maxRetryAfter))
	}
	w.expire(now)
}

// assumeSpent fills every window, as if the limit had been used up just now.
func (b *Budget) assumeSpent(now time.Time) {
	for _, w := range b.windows {
		*w = window{class: w.class, limit: nominalLimit(w.class)}
		for range w.limit {
			w.hold(now.Add(windowLength + windowMargin))
		}
	}
}

// byClock returns t as the clock has it that shows now. A clock that was set since t was
// computed moved by as much, while the monotonic readings of both times did not.
func byClock(t, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(t.Sub(now))
}

func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func ceilMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
