package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/pause"
)

// suspensionRetry is how often a suspended account is tried again, with one
// cheap call.
const suspensionRetry = time.Hour

// refusalCheck is how far apart the calls are that tell a refusal of one thing from one of the
// account. Refusals wait for the next one together: it takes a tenth of the calls at most.
const refusalCheck = 10 * time.Second

// errSuspended is returned by work for an account that the service refuses.
var errSuspended = errors.New("account is suspended")

// suspension says why an account is not used, and since when. It is a mark.
type suspension struct {
	Since  time.Time `json:"since"`
	Tried  time.Time `json:"tried"`
	Reason string    `json:"reason"`
	// Unconnected means that a person has to connect the account by OAuth.
	// Checking whether they have costs no call.
	Unconnected bool `json:"unconnected,omitempty"`
}

// suspension returns why the account is not used, nil when it is used.
func (a *account) suspension() *suspension {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.suspended
}

// usableSince returns since when this process may use the account.
func (a *account) usableSince() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usable
}

// Suspended returns why the service refuses an account, "" when it does not.
func (s *Syncer) Suspended(account string) string {
	if a := s.account(account); a != nil {
		if p := a.suspension(); p != nil {
			return p.Reason
		}
	}
	return ""
}

const suspendedPrefix = "sync/parked"

// classify wraps the error of a call for the account. If the error says that
// the service refuses the credential, the account is suspended, in the archive
// too. The credential of an account that is not read any more says nothing about the
// next account of the name.
func (s *Syncer) classify(ctx context.Context, a *account, err error) error {
	if err == nil || !api.IsAccountRefused(err) {
		return err
	}
	if a.hasLeft() {
		return fmt.Errorf("%w: %v", errLeft, err) // it refuses no meeting and no recording either
	}
	switch {
	case api.NeedsReconnect(err): // the error names the remedy
	case api.IsBlocked(err):
		err = fmt.Errorf("%w; `minutebook sync --resume --account %s` calls it nevertheless", err, a.Name)
	case a.Remedy != "":
		err = fmt.Errorf("%w; %s", err, a.Remedy)
	case a.OAuth:
		err = fmt.Errorf("%w; check that its app is registered at the service (client_id and client_secret of [accounts.oauth]) and that its user is active there", err)
	default:
		err = fmt.Errorf("%w; check its key (api_key, api_key_file), base_url, and that its user is active at the service", err)
	}
	now := s.now()
	p := &suspension{Since: now, Tried: now, Reason: err.Error(), Unconnected: api.NeedsReconnect(err)}
	a.mu.Lock()
	repeated := false
	if a.suspended != nil {
		p.Since = a.suspended.Since
		repeated = p.Unconnected && a.suspended.Unconnected && !a.suspended.Tried.IsZero() || p.Reason == a.suspended.Reason && api.IsBlocked(err)
	}
	a.suspended = p
	a.mu.Unlock()
	signal(a.judged)
	if repeated {
		return fmt.Errorf("%w: %w", errSuspended, err)
	}
	s.log.Warn().Str("account", a.Name).Err(err).Msg("account suspended: the service refuses it")
	return errors.Join(fmt.Errorf("%w: %w", errSuspended, err), s.saveSuspension(ctx, a, p))
}

// signal puts a value into a channel with room for one, unless there is one that nobody has
// waited for.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// saveSuspension writes the mark of a suspended account; nil removes it.
func (s *Syncer) saveSuspension(ctx context.Context, a *account, p *suspension) error {
	m := archive.Mark{Key: a.markKey(suspendedPrefix)}
	if p != nil {
		m = newMark(m.Key, p)
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(s.archive.SetMarks(ctx, m), s.archive.SetSuspended(ctx, a.Name, p != nil))
}

// checkUsable returns nil if the account may be used. It tries a suspended
// account with one cheap call, if force is set or an hour has passed since the
// last try. An account without a connection is tried as soon as a person has
// connected it.
func (s *Syncer) checkUsable(ctx context.Context, a *account, force bool) error {
	p := a.suspension()
	if p == nil {
		return nil
	}
	if !force && !p.Unconnected && !hasPassed(p.Tried, s.now(), suspensionRetry) {
		return fmt.Errorf("%w since %s: %s", errSuspended, p.Since.Format(time.RFC3339), p.Reason)
	}
	if err := s.classify(ctx, a, a.Client.Check(ctx)); err != nil {
		return err
	}
	// A list may have been refused because the account was.
	if err := errors.Join(s.forgetRefusedLists(ctx, a), s.saveSuspension(ctx, a, nil)); err != nil {
		return err
	}
	a.mu.Lock()
	a.suspended, a.usable = nil, s.now()
	a.mu.Unlock()
	signal(a.accepted)
	signal(a.judged)
	s.log.Info().Str("account", a.Name).Msg("account is accepted again")
	return nil
}

// classifyRefusal is classify for a call that the service may have refused because it refuses
// the whole account, which looks like a lasting refusal of a meeting, a recording or a query.
func (s *Syncer) classifyRefusal(ctx context.Context, a *account, err error) error {
	err = s.classify(ctx, a, err)
	if !api.IsRefused(err) || errors.Is(err, errSuspended) || api.IsCursorRefused(err) {
		return err
	}
	return cmp.Or(s.checkRefusal(ctx, a), err)
}

// checkRefusal returns an error if the service refuses the whole account, and not just the
// meeting of which it refused something: the keys of deactivated users get some 4xx for
// everything. Only a call that began after the refusal tells.
func (s *Syncer) checkRefusal(ctx context.Context, a *account) error {
	refusal := a.refusals.Add(1)
	select {
	case a.checking <- struct{}{}:
		defer func() { <-a.checking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.cleared >= refusal {
		return nil
	}
	if err := s.checkUsable(ctx, a, false); err != nil { // found while this one waited
		return err
	}
	if now := s.now(); !hasPassed(a.checked, now, refusalCheck) {
		if err := pause.For(ctx, refusalCheck-now.Sub(a.checked)); err != nil {
			return err
		}
	}
	refusal, a.checked = a.refusals.Load(), s.now()
	if err := s.classify(ctx, a, a.Client.Check(api.WithPriority(ctx, api.PriorityFollowUp))); err != nil { // urgent work may wait for it
		return err
	}
	a.cleared = refusal
	return nil
}

// waitSuspended waits until a suspended account may be tried again: for an
// hour, or until a person has connected it or a command has found it accepted.
func (s *Syncer) waitSuspended(ctx context.Context, a *account) {
	for until := s.now().Add(suspensionRetry); s.now().Before(until); {
		wait := min(clockCheck, until.Sub(s.now()))
		if p := a.suspension(); p != nil && p.Unconnected {
			wait = 5 * time.Second
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-a.accepted:
		case <-timer.C:
		}
		timer.Stop()
		p := a.suspension()
		if ctx.Err() != nil || p == nil || p.Unconnected && s.checkUsable(ctx, a, false) == nil {
			return
		}
	}
}

// loadSuspensions reads which accounts an earlier process suspended.
func (s *Syncer) loadSuspensions(ctx context.Context) error {
	list, _ := s.accounts.all()
	for _, a := range list {
		if a.suspension() != nil {
			continue
		}
		p, ok, err := loadMark[suspension](ctx, s.archive, a.markKey(suspendedPrefix))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		p.Tried = time.Time{} // a new process may have a new credential
		a.mu.Lock()
		a.suspended = &p
		a.mu.Unlock()
	}
	return nil
}
