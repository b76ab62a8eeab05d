package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/archive"
)

const classJob = "job"

// do runs a job of an account: once at a time, noting when it last succeeded
// and, as a failure, why it did not. wait false skips it while it runs already.
func (s *Syncer) runJob(ctx context.Context, a *account, job string, wait bool, t *runStats) error {
	return s.tryJob(ctx, a, job, wait, 0, t)
}

// nextTry is when a job that failed is run again: after retry, or with zero by
// the schedule; zero when it is in none. That of a parked account is when the
// account is tried again, zero when a person has to connect it.
func (s *Syncer) nextTry(a *account, job string, retry time.Duration) time.Time {
	if p := a.suspension(); p != nil {
		if p.Unconnected {
			return time.Time{}
		}
		return p.Tried.Add(suspensionRetry)
	}
	if retry > 0 {
		return s.now().Add(retry)
	}
	for _, table := range s.tables {
		if table.job == job {
			return table.cron.Next(s.now())
		}
	}
	return time.Time{}
}

// attempt is do for a caller that tries again after retry, if that is not zero.
func (s *Syncer) tryJob(ctx context.Context, a *account, job string, wait bool, retry time.Duration, t *runStats) error {
	leave, ok := a.tryAcquireJob(job)
	if !ok {
		if !wait {
			return nil
		}
		var err error
		if leave, err = a.acquireJob(ctx, job); err != nil {
			return err
		}
	}
	defer leave()
	began := s.now()
	err := s.guard(job+" of "+a.Name, func() error {
		if err := s.checkUsable(ctx, a, false); err != nil {
			return err
		}
		return s.dispatchJob(ctx, a, job, t)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = errors.Join(s.setLastRun(ctx, a, job, began), s.archive.ResolveFailure(ctx, a.Name, classJob, job))
		s.reportHealth(job+" of "+a.Name, err)
		return err
	}
	f := archive.Failure{Account: a.Name, Class: classJob, What: job, Reason: err.Error(), NextTry: s.nextTry(a, job, retry)}
	if unwritten := s.archive.RecordFailure(ctx, f); unwritten != nil {
		// The archive takes nothing, as when the disk is full.
		s.reportHealth(job+" of "+a.Name, unwritten)
		err = errors.Join(err, unwritten)
	}
	return err
}

func (s *Syncer) dispatchJob(ctx context.Context, a *account, job string, t *runStats) error {
	switch job {
	case JobCatchUp:
		return s.runCatchUp(ctx, a, t)
	case JobBackfill:
		return s.runBackfill(ctx, a, t)
	case JobWalk:
		return s.runLightWalk(ctx, a, t)
	case JobRefresh:
		return s.runRefresh(ctx, a, t)
	case JobDirectory:
		return s.readDirectory(ctx, a)
	}
	return fmt.Errorf("run job %q: there is no such job", job)
}

// doAll runs a job for every account at once. Failures are in the ledger and the
// log.
func (s *Syncer) runForAll(ctx context.Context, job string) {
	var g errgroup.Group
	for _, a := range s.accounts {
		g.Go(func() error {
			err := s.guard(job+" of "+a.Name, func() error { return s.runJob(ctx, a, job, false, nil) })
			if err != nil && ctx.Err() == nil {
				s.log.Warn().Str("account", a.Name).Str("job", job).Err(err).Msg("job failed")
			}
			return nil
		})
	}
	_ = g.Wait()
}

// clockCheck is how often the schedule looks at the clock, which may have been
// set meanwhile.
// keepTimetable runs a job whenever its time comes, until the context ends. A time
// that comes while the job still runs is left out.
// startUp brings an account up to date when the daemon starts: its backfill,
// tried until it is complete, then what the schedule would have run meanwhile.
// A job without a schedule is not made.
// keepAsking answers asks of an account until the context ends. A parked account
// is looked at again when its time has come.
// person gives calls the priority of somebody who waits.
