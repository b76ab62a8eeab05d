package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/archive"
	"minutebook/internal/guard"
)

const classJob = "job"

// runJob runs a job for an account, once at a time. It records when the job
// last succeeded, or why it failed. Without wait it returns at once while the
// job runs.
func (s *Syncer) runJob(ctx context.Context, a *account, job string, wait bool, t *runStats) error {
	return s.tryJob(ctx, a, job, wait, 0, t)
}

// nextTry returns when a failed job runs again: after retry, unless that is
// zero, or by the schedule, whichever comes first. A suspended account is tried in its own time. The
// result is zero if the job runs only on request or a person has to connect the
// account.
func (s *Syncer) nextTry(a *account, job string, retry time.Duration) time.Time {
	if p := a.suspension(); p != nil {
		if p.Unconnected {
			return time.Time{}
		}
		return p.Tried.Add(suspensionRetry)
	}
	table, _ := s.schedule.find(job)
	now := s.now()
	next := table.next(now)
	if again := now.Add(retry); retry > 0 && (next.IsZero() || again.Before(next)) {
		return again
	}
	return next
}

// tryJob is runJob for a caller that tries again after retry, if that is not
// zero.
func (s *Syncer) tryJob(ctx context.Context, a *account, job string, wait bool, retry time.Duration, t *runStats) error {
	outer := ctx
	ctx, stop := a.while(ctx)
	defer stop()
	leave, err := a.enterJob(ctx, job, wait)
	if leave == nil {
		return err
	}
	defer leave()
	began := s.now()
	if t == nil {
		t = &runStats{}
		t.update(func(n *runCounts) { n.Began, n.Job = began, job })
	}
	defer a.showProgress(job, t)()
	err = guard.Run(s.log, job+" of "+a.Name, func() error {
		if err := s.checkUsable(ctx, a, false); err != nil {
			return err
		}
		return s.dispatchJob(ctx, a, job, t)
	})
	if a.hasLeft() && outer.Err() == nil {
		return fmt.Errorf("%s of account %s: %w", job, a.Name, errLeft)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if idle := errors.Is(err, errBackfillFirst); idle || err == nil {
		err = s.archive.ResolveFailure(ctx, a.Name, classJob, job)
		if !idle {
			err = errors.Join(s.setLastRun(ctx, a, job, began), err)
		}
		s.reportHealth(job+" of "+a.Name, err)
		return err
	}
	if errors.Is(err, errListRefused) { // the other lists were read: they are not read again before the next time
		retry, err = 0, errors.Join(err, s.setLastRun(ctx, a, job, began))
	}
	f := archive.Failure{Account: a.Name, Class: classJob, What: job, Reason: err.Error(), NextTry: s.nextTry(a, job, retry)}
	unwritten := s.archive.RecordFailure(ctx, f) // the archive takes no writes, as when the disk is full
	s.reportHealth(job+" of "+a.Name, unwritten)
	return errors.Join(err, unwritten)
}

// dispatchJob calls the function of a job.
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
