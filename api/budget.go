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
	// windowMargin covers what two clocks may run apart within a window.
	windowMargin = 100 * time.Millisecond
	// lostMargin is how much longer than its caller's wait a call without an
	// answer may go on at the service, and be counted only then.
	lostMargin = 30 * time.Second
	// elevatedLimit is what the service may lower heavy and download limits to.
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
	// LoadBudget returns the state last saved, or nil when there is none.
	LoadBudget(ctx context.Context, connection string) ([]byte, error)
	// SaveBudget replaces the state. It need not be synced to disk: it has to
	// outlive the process, not the machine, whose start takes longer than a
	// window.
	SaveBudget(ctx context.Context, connection string, state []byte) error
}

// BudgetOptions are what NewBudget needs; only Connection is required when a
// Store is given, and nothing otherwise.
type BudgetOptions struct {
	// Connection names what the service counts by: one API key or one OAuth
	// connection, whatever its access token is at the moment.
	Connection string
	Store      BudgetStore      // nil: nothing is kept over a restart
	Now        func() time.Time // nil: time.Now
	Rand       func() float64   // in [0, 1), safe for concurrent use; nil: math/rand
	Logger     zerolog.Logger
}

// Budget keeps all calls of one connection within the service's limits, as
// nearly at them as can be known to be safe: sliding windows per class, in which
// a call takes its slot before it is sent and holds it until a window's length
// after its answer, since the service may count it anywhere in between. So no
// window of the service, fixed or sliding, ever holds more than the limit.
//
// It learns from answers: limits that were lowered and raised again, calls that
// other programs made with the same key, and the time before which the service
// does not want to be asked. Waiting calls are served by Priority. Share one
// Budget among everything that uses the connection; it is safe for concurrent
// use and needs no closing.
type Budget struct {
	connection string
	store      BudgetStore
	now        func() time.Time
	random     func() float64
	log        zerolog.Logger

	// storing is held, as a semaphore, while the store is read or written.
	storing chan struct{}

	mu       sync.Mutex // guards what follows
	loaded   bool
	changes  uint64 // counts grants and answers
	saved    uint64 // the value of changes that the store has seen
	windows  map[Class]*window
	inFlight map[*slot]struct{}
	waiting  []*waiter   // in the order they are served
	worked   time.Time   // the last call granted to a walk, or to what somebody waits for
	later    []time.Time // the calls of PriorityLater granted within the last window
	wake     *time.Timer
	refusals int // answers 429 in a row that told no time
}

// NewBudget makes a budget with the specification's limits. Its kept state is
// read by the first call that needs it.
func NewBudget(o BudgetOptions) *Budget {
	b := &Budget{
		connection: o.Connection,
		store:      o.Store,
		now:        o.Now,
		random:     o.Rand,
		log:        o.Logger,
		storing:    make(chan struct{}, 1),
		windows:    map[Class]*window{},
		inFlight:   map[*slot]struct{}{},
	}
	if b.now == nil {
		b.now = time.Now
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
	Limit    int   `json:"limit"`     // as last learned
	Nominal  int   `json:"nominal"`   // as the specification has it
	Waiting  int   `json:"waiting"`   // calls that wait for a slot in this class
	// Reset is when the next slot comes free, zero when one is free now. While
	// all slots are with calls in flight it is a window from now.
	Reset time.Time `json:"reset,omitzero"`
	// Blocked is the time before which the service does not want to be asked.
	Blocked time.Time `json:"blocked,omitzero"`
}

// Snapshot returns the state of every class, in the order of Classes. Before the
// first call it does not know what an earlier process used; Load makes it know.
func (b *Budget) Snapshot() []Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	all := make([]Usage, 0, len(b.windows))
	for _, c := range Classes() {
		w := b.windows[c]
		w.expire(now)
		u := Usage{Class: c, Used: w.used(), InFlight: w.inFlight, Foreign: w.foreign(), Limit: w.limit, Nominal: nominalLimit(c)}
		if w.blocked.After(now) {
			u.Blocked = w.blocked
		}
		if !w.open(now) {
			if u.Reset = w.nextChange(now); u.Reset.IsZero() {
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

// Resume lets calls go though the service asked not to be called yet: a person
// knows better, such as that its limits were reset.
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

// Load reads the kept state, unless that has happened already. Calls do it by
// themselves.
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
