package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Class is one of the service's limits (specification 8). Every call to the
// interface counts as ClassGlobal, some in a second class as well; calls to the
// token endpoint count as ClassToken alone.
type Class string

// The classes of calls.
const (
	ClassGlobal   Class = "global"
	ClassHeavy    Class = "heavy"
	ClassDownload Class = "download"
	ClassToken    Class = "token"
)

// Classes returns all classes, in the order in which they are reported.
func Classes() []Class { return []Class{ClassGlobal, ClassHeavy, ClassDownload, ClassToken} }

const (
	windowLength = 60 * time.Second
	// windowMargin covers the drift of two clocks within a window.
	windowMargin = 100 * time.Millisecond
	// lostMargin is the time after its caller's wait in which the service may still
	// count a call without an answer.
	lostMargin = 30 * time.Second
	// elevatedLimit is the limit to which the service may lower heavy calls and
	// downloads.
	elevatedLimit = 5
)

// nominalLimit is the number of calls in a window that the specification
// promises; no answer ever raises a limit above it.
func nominalLimit(c Class) int {
	if c == ClassHeavy || c == ClassDownload {
		return 30
	}
	return 60
}

// BudgetStore keeps a connection's budget over restarts.
type BudgetStore interface {
	// LoadBudget returns the last saved state, or nil when there is none.
	LoadBudget(ctx context.Context, connection string) ([]byte, error)
	// SaveBudget replaces the state. It need not be synced to disk: it has to
	// outlive the process, not the machine, whose start takes longer than a
	// window.
	SaveBudget(ctx context.Context, connection string, state []byte) error
}

// BudgetOptions configure a [Budget]. Connection is required together with Store,
// and nothing otherwise.
type BudgetOptions struct {
	// Connection names the API key or the OAuth connection whose calls the service
	// counts together. It stays the same when the access token changes.
	Connection string
	Store      BudgetStore      // nil: a restart forgets the state
	Now        func() time.Time // nil: time.Now
	// Uptime is how long the machine has been running, 0 where that is unknown. It bounds
	// the time between two processes: the clock may be set forward in between. nil: unknown.
	Uptime func() time.Duration
	Rand   func() float64 // in [0, 1), safe for concurrent use; nil: math/rand
	Logger zerolog.Logger
}

// Budget keeps all calls of one connection within the service's limits, and as
// near to them as is known to be safe. Each class has a sliding window. A call
// takes its slot before it is sent and keeps it until a window's length after its
// answer, since the service may count it at any time in between. So no window of
// the service, fixed or sliding, ever counts more calls than the limit.
//
// It learns from answers: lowered and raised limits, other programs' calls with
// the same key, and the time before which the service refuses calls. Waiting calls
// are served by [Priority]. All users of a connection share one Budget. It is safe
// for concurrent use and needs no closing.
type Budget struct {
	connection string
	store      BudgetStore
	now        func() time.Time
	uptime     func() time.Duration
	random     func() float64
	log        zerolog.Logger

	// storing is a semaphore for reading and writing the store.
	storing chan struct{}

	mu       sync.Mutex // guards the fields below
	loaded   bool
	changes  uint64 // counts grants and answers
	saved    uint64 // the value of changes in the store
	windows  map[Class]*window
	inFlight map[*slot]struct{}
	waiting  []*waiter   // in the order they are served
	worked   time.Time   // the last call granted to a walk or to a waiting person
	later    []time.Time // the calls of PriorityLater granted within the last window
	wake     *time.Timer
	refusals int // answers 429 in a row without a time
}

// NewBudget makes a budget with the specification's limits. The first call that
// needs the stored state reads it.
func NewBudget(o BudgetOptions) *Budget {
	b := &Budget{
		connection: o.Connection,
		store:      o.Store,
		now:        o.Now,
		uptime:     o.Uptime,
		random:     o.Rand,
		log:        o.Logger,
		storing:    make(chan struct{}, 1),
		windows:    map[Class]*window{},
		inFlight:   map[*slot]struct{}{},
	}
	if b.now == nil {
		b.now = time.Now
	}
	if b.uptime == nil {
		b.uptime = func() time.Duration { return 0 }
	}
	if b.random == nil {
		b.random = rand.Float64
	}
	for _, c := range Classes() {
		b.windows[c] = &window{class: c, limit: nominalLimit(c)}
	}
	return b
}

// Usage is the state of one class.
type Usage struct {
	Class    Class `json:"class"`
	Used     int   `json:"used"`      // slots taken, other programs' calls included
	InFlight int   `json:"in_flight"` // of these, calls without an answer yet
	Foreign  int   `json:"foreign"`   // of these, known to be other programs'
	Limit    int   `json:"limit"`     // in force: as reported, guessed after a 429, or raised on trial
	Nominal  int   `json:"nominal"`   // by the specification
	Waiting  int   `json:"waiting"`   // calls that wait for a slot in this class
	Refused  int   `json:"refused"`   // answers 429 since the start, counted in the tightest class of the call
	// Reset is the time at which the next slot comes free, zero when one is free
	// now. While calls in flight have all slots it is a window from now.
	Reset time.Time `json:"reset,omitzero"`
	// Blocked is the time before which the service refuses calls.
	Blocked time.Time `json:"blocked,omitzero"`
}

// Snapshot returns the state of every class, in the order of [Classes]. It knows
// the use of an earlier process only after the first call, or after Load.
func (b *Budget) Snapshot() []Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	all := make([]Usage, 0, len(b.windows))
	for _, c := range Classes() {
		w := b.windows[c]
		w.expire(now)
		u := Usage{Class: c, Used: w.used(), InFlight: w.inFlight, Foreign: w.foreign(), Limit: w.limit, Nominal: nominalLimit(c), Refused: w.refused}
		if w.blocked.After(now) {
			u.Blocked = byClock(w.blocked, now)
		}
		if !w.isOpen(now) {
			if u.Reset = byClock(w.nextChange(now), now); u.Reset.IsZero() {
				u.Reset = now.Add(windowLength)
			}
		}
		for _, wt := range b.waiting {
			if wt.needs(c) {
				u.Waiting++
			}
		}
		all = append(all, u)
	}
	return all
}

// Resume permits calls before the time that the service named, for a person who
// knows that its limits were reset.
func (b *Budget) Resume(ctx context.Context) error {
	if err := b.Load(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	for _, w := range b.windows {
		w.blocked = time.Time{}
	}
	b.changes++
	b.serve()
	b.mu.Unlock()
	return b.save(ctx)
}

// Load reads the stored state once. Calls do so by themselves.
func (b *Budget) Load(ctx context.Context) error {
	b.mu.Lock()
	done := b.loaded
	b.mu.Unlock()
	if done {
		return nil
	}
	if err := b.lockStore(ctx); err != nil {
		return err
	}
	defer b.unlockStore()
	var state []byte
	if b.store != nil {
		var err error
		if state, err = b.store.LoadBudget(ctx, b.connection); err != nil {
			return fmt.Errorf("load the rate budget of %s: %w", b.connection, err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loaded {
		return nil
	}
	b.loaded = true
	if err := b.restore(state, b.now()); err != nil {
		b.log.Warn().Err(err).Str("account", b.connection).Msg("the kept rate budget is unreadable; assuming that it is used up")
		b.assumeSpent(b.now())
	}
	return nil
}

func (b *Budget) lockStore(ctx context.Context) error {
	select {
	case b.storing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Budget) unlockStore() { <-b.storing }
