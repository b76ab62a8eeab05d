package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"minutebook/archive"
	"minutebook/internal/guard"
	"minutebook/internal/pause"
)

// State is how the work in the background goes.
type State struct {
	// Paused tells that the relay to webhooks was off for so long that meetings of
	// that time did not fire; nil when it never was.
	Paused *Pause `json:"paused,omitempty"`
	// Failing is the work that fails at present and is tried again.
	Failing []Failing `json:"failing,omitempty"`
	// Disabled are the webhooks that are sent nothing until a person enables them.
	Disabled []DisabledHook `json:"disabled,omitempty"`
}

// Pause is a time for which no webhooks fired.
type Pause struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"` // meetings recorded before it do not fire
}

// Failing is a part of the work that fails.
type Failing struct {
	Part  string    `json:"part"` // queue, relay, sweep or finish
	Since time.Time `json:"since"`
	Error string    `json:"error"`
}

// State returns how the work in the background goes.
func (s *Service) State(ctx context.Context) (*State, error) {
	disabled, err := s.store.readDisabledWebhooks(ctx)
	if err != nil {
		return nil, err
	}
	state := &State{Failing: s.failures.list(), Disabled: disabled}
	from, err := s.store.timeSetting(ctx, pausedKey)
	if err != nil || from.IsZero() {
		return state, err
	}
	to, err := s.store.timeSetting(ctx, restoredKey)
	state.Paused = &Pause{from, to}
	return state, err
}

// failures are the parts of the work that fail at present.
type failures struct {
	mu     sync.Mutex // guards byPart
	byPart map[string]Failing
}

func (t *failures) list() []Failing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.byPart), func(a, b Failing) int { return a.Since.Compare(b.Since) })
}

// add notes a failure; since when the part fails stays.
func (t *failures) add(part string, at time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPart == nil {
		t.byPart = map[string]Failing{}
	}
	if old, ok := t.byPart[part]; ok {
		at = old.Since
	}
	t.byPart[part] = Failing{part, at, err.Error()}
}

// reportSuccess notes that a part of the work goes well.
func (s *Service) reportSuccess(part string) {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	delete(s.failures.byPart, part)
}

// The waits between two tries of work that fails.
const (
	firstWait = 200 * time.Millisecond
	lastWait  = time.Minute
)

// keepRunning does a part of the work until ctx or the archive ends. After a failure,
// such as a read that the disk refused once, or a panic over a meeting's content, the
// work is logged, reported by State and begun again; the rest of the program goes on
// meanwhile.
func (s *Service) keepRunning(ctx context.Context, part string, work func(context.Context) error) {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		began := s.now()
		err := guard.Run(s.log, part, func() error { return work(ctx) })
		if ctx.Err() != nil || err == nil || errors.Is(err, archive.ErrClosed) {
			return
		}
		if s.now().Sub(began) > lastWait {
			wait = firstWait // it went well in between
		}
		s.failures.add(part, s.now(), err)
		s.log.Error().Err(err).Str("part", part).Dur("again_in", wait).Msg("the service's work failed; it is tried again")
		if pause.For(ctx, wait) != nil {
			return
		}
	}
}
