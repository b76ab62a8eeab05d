package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// retryParked is how often a parked account is tried again, with one cheap call.
const retryParked = time.Hour

// errParked is returned by work on an account that the service refuses.
var errParked = errors.New("account is parked")

// parking says why an account is not used, and since when.
type parking struct {
	Since  time.Time `json:"since"`
	Tried  time.Time `json:"tried"`
	Reason string    `json:"reason"`
	// Unconnected is an OAuth connection that a person has to make: looking
	// whether they have costs no call.
	Unconnected bool `json:"unconnected,omitempty"`
}

// account is an Account with its state in this process.
type account struct {
	Account
	passes []pass
	gates  map[string]chan struct{} // by job: held while it runs
	polled atomic.Bool              // the service takes no callback address: downloads are polled

	mu     sync.Mutex // guards what follows
	parked *parking
}

func newAccount(a Account) *account {
	acc := &account{Account: a, passes: passes(a.RecordedBy, a.Teams), gates: map[string]chan struct{}{}}
	for _, job := range []string{JobCatchUp, JobBackfill, JobWalk, JobRefresh, JobDirectory, jobAsks} {
		acc.gates[job] = make(chan struct{}, 1)
	}
	return acc
}

// mark is the key of a mark of this account under a prefix.
func (a *account) mark(prefix string) string { return prefix + "/" + url.PathEscape(a.Name) }

// enter waits until no other run of the job goes on and returns the way out.
func (a *account) enter(ctx context.Context, job string) (leave func(), err error) {
	gate := a.gates[job]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tryEnter is enter without waiting.
func (a *account) tryEnter(job string) (leave func(), ok bool) {
	gate := a.gates[job]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, true
	default:
		return nil, false
	}
}

// running tells whether a run of the job goes on.
func (a *account) running(job string) bool { return len(a.gates[job]) > 0 }

func (a *account) parking() *parking {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.parked
}

const parkPrefix = "sync/parked"

// judge looks at the error of a call of the account: one that says that the
// credential is refused parks the account, once and in the archive. It returns
// the error, wrapped.
func (s *Syncer) judge(ctx context.Context, a *account, err error) error {
	if err == nil || !api.IsAccountRefused(err) {
		return err
	}
	switch {
	case api.NeedsReconnect(err): // which says what to do
	case api.IsBlocked(err):
		err = fmt.Errorf("%w; `minutebook sync --resume --account %s` calls it nevertheless", err, a.Name)
	default:
		err = fmt.Errorf("%w; check its key (api_key, api_key_file) and that its user is active at the service", err)
	}
	now := s.now()
	p := &parking{Since: now, Tried: now, Reason: err.Error(), Unconnected: api.NeedsReconnect(err)}
	a.mu.Lock()
	known := false
	if a.parked != nil {
		p.Since = a.parked.Since
		known = p.Unconnected && a.parked.Unconnected && !a.parked.Tried.IsZero() || p.Reason == a.parked.Reason && api.IsBlocked(err)
	}
	a.parked = p
	a.mu.Unlock()
	if known {
		return fmt.Errorf("%w: %w", errParked, err)
	}
	s.log.Warn().Str("account", a.Name).Err(err).Msg("account parked: the service refuses it")
	return errors.Join(fmt.Errorf("%w: %w", errParked, err), s.saveParking(ctx, a, p))
}

// saveParking writes or, with nil, removes the mark of a parked account.
func (s *Syncer) saveParking(ctx context.Context, a *account, p *parking) error {
	m := archive.Mark{Key: a.mark(parkPrefix)}
	if p != nil {
		b, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("park account %s: %w", a.Name, err)
		}
		m.Value = b
	}
	return s.archive.SetMarks(context.WithoutCancel(ctx), m)
}

// usable returns nil when the account may be used. A parked one is tried with
// one cheap call when force is set or the last try is an hour old, or as soon as
// it is connected where that was missing.
func (s *Syncer) usable(ctx context.Context, a *account, force bool) error {
	p := a.parking()
	if p == nil {
		return nil
	}
	if !force && !p.Unconnected && elapsed(p.Tried, s.now()) < retryParked {
		return fmt.Errorf("%w since %s: %s", errParked, p.Since.Format(time.RFC3339), p.Reason)
	}
	if err := s.judge(ctx, a, a.Client.Check(ctx)); err != nil {
		return err
	}
	if err := s.saveParking(ctx, a, nil); err != nil {
		return err
	}
	a.mu.Lock()
	a.parked = nil
	a.mu.Unlock()
	s.log.Info().Str("account", a.Name).Msg("account is accepted again")
	return nil
}

// pauseParked waits until a parked account may be tried again: for an hour, or
// until somebody has connected it or a command has found it accepted.
func (s *Syncer) pauseParked(ctx context.Context, a *account) {
	for until := s.now().Add(retryParked); s.now().Before(until); {
		pause(ctx, 5*time.Second)
		p := a.parking()
		if ctx.Err() != nil || p == nil || p.Unconnected && s.usable(ctx, a, false) == nil {
			return
		}
	}
}

// loadParking reads which accounts were parked when the last process ended.
func (s *Syncer) loadParking(ctx context.Context) error {
	for _, a := range s.accounts {
		if a.parking() != nil {
			continue
		}
		b, err := s.archive.Mark(ctx, a.mark(parkPrefix))
		if err != nil || b == nil {
			if err != nil {
				return err
			}
			continue
		}
		var p parking
		if err := json.Unmarshal(b, &p); err != nil {
			return fmt.Errorf("read why account %s is parked: %w", a.Name, err)
		}
		p.Tried = time.Time{} // a new process may have a new credential
		a.mu.Lock()
		a.parked = &p
		a.mu.Unlock()
	}
	return nil
}
