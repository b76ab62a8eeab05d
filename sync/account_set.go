package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"minutebook/archive"
)

// accountSet has the accounts that are read at present, and the job locks of all that
// ever were: an account that comes back waits for its last run to end. It is safe for
// concurrent use.
type accountSet struct {
	mu     sync.Mutex // guards the fields below
	list   []*account // replaced as a whole, never changed
	locks  map[string]map[string]chan struct{}
	change chan struct{} // closed and replaced when list is
}

func newAccountSet() *accountSet {
	return &accountSet{locks: map[string]map[string]chan struct{}{}, change: make(chan struct{})}
}

// all returns the accounts, and a channel that is closed when there are others.
func (s *accountSet) all() (list []*account, change <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list, s.change
}

// replace sets the accounts. Those that are the same as before stay; the work of those
// that are not among them any more ends.
func (s *accountSet) replace(settings []Account, now time.Time) error {
	seen := map[string]bool{}
	for _, a := range settings {
		if a.Name == "" || a.Client == nil {
			return fmt.Errorf("account %q needs a name and a client", a.Name)
		}
		if seen[a.Name] {
			return fmt.Errorf("account %q occurs twice", a.Name)
		}
		seen[a.Name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*account
	for _, setting := range settings {
		known := slices.IndexFunc(s.list, func(a *account) bool { return a.Account.equal(setting) })
		if known >= 0 {
			list = append(list, s.list[known])
			continue
		}
		if s.locks[setting.Name] == nil {
			s.locks[setting.Name] = newJobLocks()
		}
		list = append(list, newAccount(setting, s.locks[setting.Name], now))
	}
	for _, a := range s.list {
		if !slices.Contains(list, a) {
			a.leave()
		}
	}
	s.list = list
	close(s.change)
	s.change = make(chan struct{})
	return nil
}

// equal reports whether two settings read the same lists with the same client.
func (a Account) equal(b Account) bool {
	return a.Name == b.Name && a.Client == b.Client && a.OAuth == b.OAuth && a.AllowPrivate == b.AllowPrivate &&
		slices.Equal(a.RecordedBy, b.RecordedBy) && slices.Equal(a.Teams, b.Teams)
}

// errLeft ends the work for an account that is not read any more.
var errLeft = errors.New("the account is not read any more")

// while returns a context that also ends when the account is not read any more.
func (a *account) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.life, func() { cancel(errLeft) })
	return ctx, func() { stop(); cancel(nil) }
}

// hasLeft reports whether the account is not read any more.
func (a *account) hasLeft() bool { return a.life.Err() != nil }

// SetAccounts replaces the accounts, also while [Syncer.Run] goes on: those that are new
// are brought up to date at once, and the work for those that are missing ends. Their
// meetings, marks and queues stay as they are.
func (s *Syncer) SetAccounts(accounts []Account) error {
	if err := s.accounts.replace(accounts, s.now()); err != nil {
		return fmt.Errorf("set accounts: %w", err)
	}
	s.downloads.wakeForChange()
	return nil
}

// followAccounts starts the loops of each account, now and whenever there is another
// one, until ctx ends. The loops of an account end with it.
func (s *Syncer) followAccounts(ctx context.Context, start func(work string, loop func(context.Context) error)) error {
	started := map[*account]bool{}
	for first := true; ctx.Err() == nil; first = false {
		list, change := s.accounts.all()
		if err := s.loadSuspensions(ctx); err != nil {
			return err
		}
		another := false
		for _, a := range list {
			if started[a] {
				continue
			}
			started[a] = true
			another = true
			start("start of "+a.Name, s.untilLeft(a, s.bringUpToDate))
			start("content of "+a.Name, s.untilLeft(a, s.keepReadingContent))
		}
		if another && !first { // at first the downloads begin so by themselves
			s.wantDownloads(ctx)
		}
		for a := range started {
			if a.hasLeft() {
				delete(started, a)
			}
		}
		if err := s.closeFailures(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("close the failures of accounts and lists that are not read any more")
		}
		select {
		case <-ctx.Done():
		case <-change:
		}
	}
	return ctx.Err()
}

// wantDownloads wants the recordings that accounts may have to whom they were not refused.
func (s *Syncer) wantDownloads(ctx context.Context) {
	if !s.opt.DownloadMedia {
		return
	}
	if _, err := s.archive.WantDownloads(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn().Err(err).Msg("look for recordings that another account may have; looking again")
		s.downloads.isBehind.Store(true)
	}
	s.downloads.wakeForChange()
}

// closeFailures closes the failures that nobody tries again: those of accounts, and of
// lists, that are not read any more.
func (s *Syncer) closeFailures(ctx context.Context) error {
	open, err := s.archive.Failures(ctx, true)
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range open {
		if !s.mayTryAgain(f) {
			failed = append(failed, s.archive.ResolveFailure(ctx, f.Account, f.Class, f.What))
		}
	}
	return errors.Join(failed...)
}

// mayTryAgain reports whether the work of a failure may be done again. Recordings go on by
// other accounts, see [downloader.request].
func (s *Syncer) mayTryAgain(f archive.Failure) bool {
	a := s.account(f.Account)
	switch f.Class {
	case classJob, classContent:
		return a != nil
	case classList, classAbsence:
		return a != nil && slices.ContainsFunc(a.lists, func(p listQuery) bool {
			return f.What == describeList(p) || f.What == unreadableKey(walkSpec{list: p})
		})
	}
	return true
}

// untilLeft returns a loop that ends without an error when the account is not read any
// more.
func (s *Syncer) untilLeft(a *account, loop func(context.Context, *account) error) func(context.Context) error {
	return func(ctx context.Context) error {
		bound, stop := a.while(ctx)
		defer stop()
		err := loop(bound, a)
		if a.hasLeft() && ctx.Err() == nil {
			return nil
		}
		return err
	}
}
