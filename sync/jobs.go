package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
)

const classJob = "job"

// do runs a job of an account: once at a time, noting when it last succeeded
// and, as a failure, why it did not. wait false skips it while it runs already.
func (s *Syncer) do(ctx context.Context, a *account, job string, wait bool, t *tally) error {
	return s.attempt(ctx, a, job, wait, 0, t)
}

// nextTry is when a job that failed is run again: after retry, or with zero by
// the schedule; zero when it is in none. That of a parked account is when the
// account is tried again, zero when a person has to connect it.
func (s *Syncer) nextTry(a *account, job string, retry time.Duration) time.Time {
	if p := a.parking(); p != nil {
		if p.Unconnected {
			return time.Time{}
		}
		return p.Tried.Add(retryParked)
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
func (s *Syncer) attempt(ctx context.Context, a *account, job string, wait bool, retry time.Duration, t *tally) error {
	leave, ok := a.tryEnter(job)
	if !ok {
		if !wait {
			return nil
		}
		var err error
		if leave, err = a.enter(ctx, job); err != nil {
			return err
		}
	}
	defer leave()
	began := s.now()
	err := s.guard(job+" of "+a.Name, func() error {
		if err := s.usable(ctx, a, false); err != nil {
			return err
		}
		return s.perform(ctx, a, job, t)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = errors.Join(s.setRan(ctx, a, job, began), s.archive.ResolveFailure(ctx, a.Name, classJob, job))
		s.trouble(job+" of "+a.Name, err)
		return err
	}
	f := archive.Failure{Account: a.Name, Class: classJob, What: job, Reason: err.Error(), NextTry: s.nextTry(a, job, retry)}
	if unwritten := s.archive.RecordFailure(ctx, f); unwritten != nil {
		// The archive takes nothing, as when the disk is full.
		s.trouble(job+" of "+a.Name, unwritten)
		err = errors.Join(err, unwritten)
	}
	return err
}

func (s *Syncer) perform(ctx context.Context, a *account, job string, t *tally) error {
	switch job {
	case JobCatchUp:
		return s.catchUp(ctx, a, t)
	case JobBackfill:
		return s.backfill(ctx, a, t)
	case JobWalk:
		return s.lightWalk(ctx, a, t)
	case JobRefresh:
		return s.refresh(ctx, a, t)
	case JobDirectory:
		return s.directory(ctx, a)
	}
	return fmt.Errorf("run job %q: there is no such job", job)
}

// doAll runs a job for every account at once. Failures are in the ledger and the
// log.
func (s *Syncer) doAll(ctx context.Context, job string) {
	var g errgroup.Group
	for _, a := range s.accounts {
		g.Go(func() error {
			err := s.guard(job+" of "+a.Name, func() error { return s.do(ctx, a, job, false, nil) })
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
const clockCheck = time.Minute

// keepTimetable runs a job whenever its time comes, until the context ends. A time
// that comes while the job still runs is left out.
func (s *Syncer) keepTimetable(ctx context.Context, table timetable) error {
	var next time.Time
	for ctx.Err() == nil {
		now := s.now()
		if next.IsZero() || now.Before(next) {
			if next = table.next(next, now); next.IsZero() {
				return nil
			}
			pause(ctx, min(next.Sub(now), clockCheck))
			continue
		}
		s.doAll(ctx, table.job)
		next = time.Time{}
	}
	return ctx.Err()
}

// startUp brings an account up to date when the daemon starts: its backfill,
// tried until it is complete, then what the schedule would have run meanwhile.
// A job without a schedule is not made.
func (s *Syncer) startUp(ctx context.Context, a *account) error {
	scheduled := slices.ContainsFunc(s.tables, func(t timetable) bool { return t.job == JobBackfill })
	for wait := 5 * time.Second; scheduled; wait = min(2*wait, 5*time.Minute) {
		err := s.attempt(ctx, a, JobBackfill, true, wait, nil)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errParked) {
			s.pauseParked(ctx, a)
			continue
		}
		s.log.Warn().Str("account", a.Name).Dur("retry_in", wait).Err(err).Msg("backfill interrupted")
		pause(ctx, wait)
	}
	for _, table := range s.tables {
		last, err := s.ran(ctx, a, table.job)
		if err != nil {
			return err
		}
		if table.job == JobBackfill || !table.missed(last, s.now()) {
			continue
		}
		if err := s.do(ctx, a, table.job, false, nil); err != nil && ctx.Err() == nil {
			s.log.Warn().Str("account", a.Name).Str("job", table.job).Err(err).Msg("job failed")
		}
	}
	return ctx.Err()
}

// keepAsking answers asks of an account until the context ends. A parked account
// is looked at again when its time has come.
func (s *Syncer) keepAsking(ctx context.Context, a *account) error {
	for ctx.Err() == nil {
		err := s.usable(ctx, a, false)
		if err == nil {
			err = s.answerAsks(ctx, a, false, nil)
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errParked) {
			pause(ctx, time.Minute)
			continue
		}
		s.trouble("content of "+a.Name, err)
		pause(ctx, 10*time.Second)
	}
	return ctx.Err()
}

// person gives calls the priority of somebody who waits.
func person(ctx context.Context) context.Context { return api.WithPriority(ctx, api.PriorityPerson) }
