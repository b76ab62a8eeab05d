package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

const suspensionRetry = time.Hour

var errSuspended = errors.New("account is parked")

type suspension struct {
	Since  time.Time `json:"since"`
	Tried  time.Time `json:"tried"`
	Reason string    `json:"reason"`
	// Unconnected is an OAuth connection that a person has to make: looking
	// whether they have costs no call.
	Unconnected bool `json:"unconnected,omitempty"`
}

func (a *account) suspension() *suspension {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.suspended
}

const suspendedPrefix = "sync/parked"

func (s *Syncer) classify(ctx context.Context, a *account, err error) error {
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
	p := &suspension{Since: now, Tried: now, Reason: err.Error(), Unconnected: api.NeedsReconnect(err)}
	a.mu.Lock()
	known := false
	if a.suspended != nil {
		p.Since = a.suspended.Since
		known = p.Unconnected && a.suspended.Unconnected && !a.suspended.Tried.IsZero() || p.Reason == a.suspended.Reason && api.IsBlocked(err)
	}
	a.suspended = p
	a.mu.Unlock()
	if known {
		return fmt.Errorf("%w: %w", errSuspended, err)
	}
	s.log.Warn().Str("account", a.Name).Err(err).Msg("account parked: the service refuses it")
	return errors.Join(fmt.Errorf("%w: %w", errSuspended, err), s.saveSuspension(ctx, a, p))
}

func (s *Syncer) saveSuspension(ctx context.Context, a *account, p *suspension) error {
	m := archive.Mark{Key: a.markKey(suspendedPrefix)}
	if p != nil {
		b, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("park account %s: %w", a.Name, err)
		}
		m.Value = b
	}
	return s.archive.SetMarks(context.WithoutCancel(ctx), m)
}

func (s *Syncer) checkUsable(ctx context.Context, a *account, force bool) error {
	p := a.suspension()
	if p == nil {
		return nil
	}
	if !force && !p.Unconnected && distance(p.Tried, s.now()) < suspensionRetry {
		return fmt.Errorf("%w since %s: %s", errSuspended, p.Since.Format(time.RFC3339), p.Reason)
	}
	if err := s.classify(ctx, a, a.Client.Check(ctx)); err != nil {
		return err
	}
	if err := s.saveSuspension(ctx, a, nil); err != nil {
		return err
	}
	a.mu.Lock()
	a.suspended = nil
	a.mu.Unlock()
	s.log.Info().Str("account", a.Name).Msg("account is accepted again")
	return nil
}

func (s *Syncer) waitSuspended(ctx context.Context, a *account) {
	for until := s.now().Add(suspensionRetry); s.now().Before(until); {
		sleep(ctx, 5*time.Second)
		p := a.suspension()
		if ctx.Err() != nil || p == nil || p.Unconnected && s.checkUsable(ctx, a, false) == nil {
			return
		}
	}
}

func (s *Syncer) loadSuspensions(ctx context.Context) error {
	for _, a := range s.accounts {
		if a.suspension() != nil {
			continue
		}
		b, err := s.archive.Mark(ctx, a.markKey(suspendedPrefix))
		if err != nil || b == nil {
			if err != nil {
				return err
			}
			continue
		}
		var p suspension
		if err := json.Unmarshal(b, &p); err != nil {
			return fmt.Errorf("read why account %s is parked: %w", a.Name, err)
		}
		p.Tried = time.Time{} // a new process may have a new credential
		a.mu.Lock()
		a.suspended = &p
		a.mu.Unlock()
	}
	return nil
}
