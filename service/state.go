package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"minutebook/archive"
)

// State is how the work in the background goes.
type State struct {
	// Paused tells that the relay to webhooks was off for so long that it did not
	// send what had come meanwhile; nil when it never was.
	Paused *Pause `json:"paused,omitempty"`
	// Failing is the work that fails at present and is tried again.
	Failing []Failing `json:"failing,omitempty"`
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
	state := &State{Failing: s.troubles.list()}
	from, err := s.store.timeSetting(ctx, pausedKey)
	if err != nil || from.IsZero() {
		return state, err
	}
	to, err := s.store.timeSetting(ctx, restoredKey)
	state.Paused = &Pause{from, to}
	return state, err
}

// troubles are the parts of the work that fail.
type troubles struct {
	mu sync.Mutex // guards of
	of map[string]Failing
}

func (t *troubles) list() []Failing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.of), func(a, b Failing) int { return a.Since.Compare(b.Since) })
}

// add notes a failure; since when the part fails stays.
func (t *troubles) add(part string, at time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]Failing{}
	}
	if old, ok := t.of[part]; ok {
		at = old.Since
	}
	t.of[part] = Failing{part, at, err.Error()}
}

// works notes that a part of the work goes well.
func (s *Service) works(part string) {
	s.troubles.mu.Lock()
	defer s.troubles.mu.Unlock()
	delete(s.troubles.of, part)
}

// The waits between two tries of what fails.
const (
	firstWait = 200 * time.Millisecond
	lastWait  = time.Minute
)

// keep does a part of the work until ctx or the archive ends. What fails, such as
// a read that the disk refused once, is logged, reported by State and begun
// again: the rest of the program goes on meanwhile.
func (s *Service) keep(ctx context.Context, part string, work func(context.Context) error) {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		began := s.now()
		err := work(ctx)
		if ctx.Err() != nil || err == nil || errors.Is(err, archive.ErrClosed) {
			return
		}
		if s.now().Sub(began) > lastWait {
			wait = firstWait // it went well in between
		}
		s.troubles.add(part, s.now(), err)
		s.log.Error().Err(err).Str("part", part).Dur("again_in", wait).Msg("the service's work failed; it is tried again")
		if sleep(ctx, wait) != nil {
			return
		}
	}
}
