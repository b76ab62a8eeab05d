package syncer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
)

// due is how old the last run of a job must be for Sync to make it again.
const due = 20 * time.Hour

// Request says what one run of Sync is to do.
type Request struct {
	Account string    `json:"account,omitempty"` // only this one; "" means all
	Full    bool      `json:"full,omitempty"`    // the full history with content again
	Since   time.Time `json:"since,omitzero"`    // everything created after it, with content
	Media   bool      `json:"media,omitempty"`   // wait until recordings are fetched
	// Resume calls accounts that the service asked not to call yet.
	Resume bool `json:"resume,omitempty"`
}

// Sync makes one run now: what waits in the inbox, then the backfill where it is
// not complete, otherwise a walk over everything and the re-reads that are due;
// or what the request names.
// It calls progress about once a second, and at the end with Done set, from
// goroutines of its own, never two at a time. Running beside Run it shares the
// accounts' jobs and waits for those that run already. Accounts that fail do not
// keep the others from going on; their errors are joined.
func (s *Syncer) Sync(ctx context.Context, req Request, progress func(Event)) error {
	accounts, err := s.chosen(req)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.drainAll(ctx); err != nil {
		return err
	}
	t := &tally{}
	t.add(func(n *counts) { n.Began = s.now() })
	reporting, stop := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = s.guard("progress", func() error { // which is in the log
			if progress != nil {
				s.report(reporting, accounts, t, progress)
			}
			return nil
		})
	}()
	err = s.syncAll(person(api.WithOrder(ctx, s.archive.NextOrder)), accounts, req, t)
	stop()
	<-finished
	if progress != nil {
		e := s.event(context.WithoutCancel(ctx), accounts, t)
		e.Done = true
		if err != nil {
			e.Error = err.Error()
		}
		progress(e)
	}
	return err
}

func (s *Syncer) chosen(req Request) ([]*account, error) {
	if req.Account == "" {
		if len(s.accounts) == 0 {
			return nil, errors.New("sync: no account is configured; add one under [[accounts]]")
		}
		return s.accounts, nil
	}
	if a := s.account(req.Account); a != nil {
		return []*account{a}, nil
	}
	var names []string
	for _, a := range s.accounts {
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("sync: no account is named %q; there are %s", req.Account, strings.Join(names, ", "))
}

func (s *Syncer) syncAll(ctx context.Context, accounts []*account, req Request, t *tally) error {
	errs := make([]error, len(accounts)+1)
	var g errgroup.Group
	for i, a := range accounts {
		g.Go(func() error {
			errs[i] = s.guard("sync of "+a.Name, func() error { return s.syncOne(ctx, a, req, t) })
			return nil
		})
	}
	_ = g.Wait()
	if req.Media && ctx.Err() == nil {
		errs[len(accounts)] = s.fetchAll(ctx, t)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// syncOne brings one account up to date.
func (s *Syncer) syncOne(ctx context.Context, a *account, req Request, t *tally) error {
	if req.Resume {
		if err := a.Client.Budget().Resume(ctx); err != nil {
			return fmt.Errorf("sync account %s: %w", a.Name, err)
		}
	}
	if err := s.usable(ctx, a, true); err != nil {
		return fmt.Errorf("sync account %s: %w", a.Name, err)
	}
	stop := make(chan struct{})
	asking := make(chan error, 1)
	go func() {
		asking <- s.guard("content of "+a.Name, func() error { return s.answerUntil(ctx, a, stop, t) })
	}()
	err := s.walks(ctx, a, req, t)
	close(stop)
	return errors.Join(err, <-asking)
}

// walks makes the walks of a run.
func (s *Syncer) walks(ctx context.Context, a *account, req Request, t *tally) error {
	done, err := s.backfilled(ctx, a)
	if err != nil {
		return err
	}
	if req.Full || !req.Since.IsZero() {
		return s.again(ctx, a, req, t)
	}
	jobs := []string{JobBackfill}
	if done {
		jobs = []string{JobWalk}
		for _, job := range []string{JobRefresh, JobDirectory} {
			last, err := s.ran(ctx, a, job)
			if err != nil {
				return err
			}
			if elapsed(last, s.now()) > due {
				jobs = append(jobs, job)
			}
		}
	} else {
		jobs = append(jobs, JobDirectory)
	}
	for _, job := range jobs {
		t.doing(job)
		if err := s.do(ctx, a, job, true, t); err != nil {
			return err
		}
	}
	return nil
}

// again reads what the request names once more, as a backfill would.
func (s *Syncer) again(ctx context.Context, a *account, req Request, t *tally) error {
	leave, err := a.enter(ctx, JobBackfill)
	if err != nil {
		return err
	}
	defer leave()
	if req.Full {
		t.doing("full")
		return s.full(ctx, a, t)
	}
	t.doing("since")
	return s.since(ctx, a, req.Since, t)
}

// answerUntil answers asks while walks go on, and after stop is closed what is
// then due. Where the daemon answers them already, it waits until it has.
func (s *Syncer) answerUntil(ctx context.Context, a *account, stop <-chan struct{}, t *tally) error {
	for walking := true; ; {
		if err := s.answerAsks(ctx, a, true, t); err != nil {
			return err
		}
		n, change := s.asks.pressing(a.Name, s.now())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case n > 0:
			continue
		case !walking:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-change:
		case <-stop:
			walking = false
		}
	}
}
