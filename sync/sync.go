package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/internal/guard"
	"minutebook/internal/nearest"
)

// overdueAfter is how old the last run of a job must be for [Syncer.Sync] to
// run it again.
const overdueAfter = 20 * time.Hour

// Request is the task of one run of [Syncer.Sync].
type Request struct {
	Account string    `json:"account,omitempty"` // only this one; "" means all
	Full    bool      `json:"full,omitempty"`    // the full history with content again
	Since   time.Time `json:"since,omitzero"`    // everything created after it, with content
	Media   bool      `json:"media,omitempty"`   // wait until recordings are fetched
	// Resume calls accounts although the service asked to wait.
	Resume bool `json:"resume,omitempty"`
}

// Sync makes one run: it applies the inbox, makes the backfill where it is not
// complete, and then a light walk, unless that backfill has shown everything, and
// the jobs that are overdue; or it reads the meetings that the request names. It
// calls progress about once a second, and at the end with Done set, from its own
// goroutines, never two at a time. Beside Run it shares the accounts' jobs and
// waits for those that run. If an account or a list fails the others go on, and
// the errors are joined.
func (s *Syncer) Sync(ctx context.Context, req Request, progress func(Event)) error {
	accounts, err := s.chooseAccounts(req)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.settleQuarantine(ctx); err != nil {
		return err
	}
	if err := s.drainAll(ctx); err != nil {
		return err
	}
	t := &runStats{}
	t.update(func(n *runCounts) { n.Began = s.now() })
	reporting, stop := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = guard.Run(s.log, "progress", func() error { // guard logs a panic
			if progress != nil {
				s.reportProgress(reporting, accounts, t, progress)
			}
			return nil
		})
	}()
	err = s.syncAll(withPersonPriority(api.WithOrder(ctx, s.archive.NextOrder)), accounts, req, t)
	stop()
	<-finished
	if progress != nil {
		e := s.progressEvent(context.WithoutCancel(ctx), accounts, t)
		e.Done = true
		if err != nil {
			e.Error = err.Error()
		}
		progress(e)
	}
	return err
}

// chooseAccounts returns the accounts that a request names.
func (s *Syncer) chooseAccounts(req Request) ([]*account, error) {
	list, _ := s.accounts.all()
	if req.Account == "" {
		if len(list) == 0 {
			return nil, errors.New("sync: no account is configured; add one under [[accounts]]")
		}
		return list, nil
	}
	if a := s.account(req.Account); a != nil {
		return []*account{a}, nil
	}
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("sync: %w", &nearest.UnknownError{Kind: "account", Name: req.Account, Known: names})
}

// syncAll brings accounts up to date in parallel, and then fetches recordings
// if the request says so.
func (s *Syncer) syncAll(ctx context.Context, accounts []*account, req Request, t *runStats) error {
	errs := make([]error, len(accounts)+1)
	var g errgroup.Group
	for i, a := range accounts {
		g.Go(func() error {
			errs[i] = guard.Run(s.log, "sync of "+a.Name, func() error { return s.syncAccount(ctx, a, req, t) })
			return nil
		})
	}
	_ = g.Wait()
	if req.Media && ctx.Err() == nil {
		errs[len(accounts)] = s.fetchAllRecordings(ctx, t)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(append(errs, s.closeFailures(ctx))...)
}

// syncAccount brings one account up to date.
func (s *Syncer) syncAccount(ctx context.Context, a *account, req Request, t *runStats) error {
	ctx, leave := a.while(ctx)
	defer leave()
	if req.Resume {
		if err := a.Client.Resume(ctx); err != nil {
			return fmt.Errorf("sync account %s: %w", a.Name, err)
		}
	}
	if err := s.checkUsable(ctx, a, true); err != nil {
		return fmt.Errorf("sync account %s: %w", a.Name, err)
	}
	stop := make(chan struct{})
	asking := make(chan error, 1)
	go func() {
		asking <- guard.Run(s.log, "content of "+a.Name, func() error { return s.processTasksUntil(ctx, a, stop, t) })
	}()
	err := s.runWalks(ctx, a, req, t)
	close(stop)
	return errors.Join(err, <-asking)
}

// runWalks runs the jobs of one account.
func (s *Syncer) runWalks(ctx context.Context, a *account, req Request, t *runStats) error {
	done, err := s.isBackfilled(ctx, a)
	if err != nil {
		return err
	}
	if req.Full || !req.Since.IsZero() {
		return s.rereadRequested(ctx, a, req, t)
	}
	began, jobs := s.now(), []string{JobWalk, JobRefresh, JobDirectory}
	if !done {
		jobs = append([]string{JobBackfill}, jobs...)
	}
	var refused error
	for _, job := range jobs {
		last, err := s.lastOwnRun(ctx, a, job)
		if err != nil {
			return err
		}
		switch {
		case job == JobBackfill:
		case job == JobWalk && !done && !last.Before(began): // the backfill has just shown everything
			continue
		case job != JobWalk && !hasPassed(last, s.now(), overdueAfter):
			continue
		}
		t.setJob(job)
		switch err := s.runJob(ctx, a, job, true, t); {
		case errors.Is(err, errListRefused):
			refused = errors.Join(refused, err)
		case err != nil:
			return err
		}
	}
	return refused
}

// rereadRequested reads the meetings that the request names again, with content.
func (s *Syncer) rereadRequested(ctx context.Context, a *account, req Request, t *runStats) error {
	leave, err := a.acquireJob(ctx, JobBackfill)
	if err != nil {
		return err
	}
	defer leave()
	if req.Full {
		t.setJob("full")
		return s.rereadAll(ctx, a, t)
	}
	t.setJob("since")
	return s.rereadSince(ctx, a, req.Since, t)
}

// processTasksUntil works on content tasks while walks go on and, after stop is
// closed, on those that are due then. If the daemon works on them, it waits for
// the daemon.
func (s *Syncer) processTasksUntil(ctx context.Context, a *account, stop <-chan struct{}, t *runStats) error {
	for walking := true; ; {
		if err := s.processTasks(ctx, a, true, t); err != nil {
			return err
		}
		n, change := s.content.countRegular(a.Name, s.now())
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
