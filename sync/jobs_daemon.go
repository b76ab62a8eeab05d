package syncer

import (
	"context"
	"errors"
	"sync"
	"time"

	"minutebook/api"
	"minutebook/internal/crontab"
	"minutebook/internal/guard"
	"minutebook/internal/pause"
)

// followTimetable runs a job of each account whenever its time comes by the schedule in force,
// until ctx ends. A time that comes while the job of an account runs is skipped for that account:
// one that the service keeps waiting holds up no other.
func (s *Syncer) followTimetable(ctx context.Context, job string) error {
	var tries sync.WaitGroup
	defer tries.Wait()
	for ctx.Err() == nil {
		table, changed := s.schedule.table(job)
		if !s.awaitTime(ctx, table, changed) {
			continue
		}
		list, _ := s.accounts.all()
		for _, a := range list {
			tries.Go(func() {
				if s.tryScheduled(ctx, a, job, 1) {
					s.retryScheduled(ctx, a, job)
				}
			})
		}
	}
	return ctx.Err()
}

// tryScheduled runs a job for an account, and reports whether it is to be tried again, since it
// failed. failures is how often it has failed then, without a success since. Failures are
// recorded and logged.
func (s *Syncer) tryScheduled(ctx context.Context, a *account, job string, failures int) (again bool) {
	err := guard.Run(s.log, job+" of "+a.Name, func() error { return s.tryJob(ctx, a, job, false, crontab.RetryWait(failures), nil) })
	if err == nil || ctx.Err() != nil || errors.Is(err, errLeft) {
		return false
	}
	s.log.Warn().Str("account", a.Name).Str("job", job).Err(err).Msg("job failed")
	// An account that is accepted again makes up for it, and a refused list waits for the next time.
	return !errors.Is(err, errSuspended) && !errors.Is(err, errListRefused)
}

// retryScheduled tries a job that failed for an account again and again, after longer waits,
// until it succeeds or the schedule's next time comes.
func (s *Syncer) retryScheduled(ctx context.Context, a *account, job string) {
	for failures := 1; ; failures++ {
		failed := s.now()
		if !s.awaitRetry(ctx, job, failed, crontab.RetryWait(failures)) {
			return
		}
		if last, err := s.lastOwnRun(ctx, a, job); err == nil && !last.Before(failed) {
			return // a person has run it
		}
		if !s.tryScheduled(ctx, a, job, failures+1) {
			return
		}
	}
}

// awaitRetry waits for a time after a failure of a job, and reports whether it passed before the
// job's next time came and ctx ended. The next time of another schedule counts from its beginning
// on: [Syncer.followTimetable] makes up for none before. The failure counts no more once the
// clock was set back behind it.
func (s *Syncer) awaitRetry(ctx context.Context, job string, failed time.Time, wait time.Duration) bool {
	at := failed.Add(wait)
	var next time.Time
	var changed <-chan struct{}
	for now := failed; ctx.Err() == nil && !now.Before(failed); now = s.now() {
		if table, change := s.schedule.table(job); change != changed {
			next, changed = table.next(now), change
		}
		switch {
		case !at.Before(next):
			return false
		case !now.Before(at):
			return now.Before(next)
		}
		waitForChange(ctx, changed, at, now)
	}
	return false
}

// awaitTime waits for the next time of a table, and reports whether it came before
// changed was closed and ctx ended. It plans again after the clock was set back, and has the
// recordings looked at that were refused by the clock before.
func (s *Syncer) awaitTime(ctx context.Context, table timetable, changed <-chan struct{}) bool {
	last := s.now()
	next := table.next(last)
	for {
		now := s.now()
		if now.Before(last) {
			next = table.next(now)
			s.downloads.wakeForChange()
		}
		last = now
		var timer <-chan time.Time // nil: never
		if !next.IsZero() {
			if !now.Before(next) {
				return true
			}
			timer = time.After(min(next.Sub(now), clockCheck))
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed: // a time that has come is not lost
			return !next.IsZero() && !s.now().Before(next)
		case <-timer:
		}
	}
}

// bringUpToDate runs for an account from the daemon's start on: the backfill, tried
// until it is complete, and then the jobs that were due while no daemon ran, or while the
// service refused the account. Jobs without a schedule are not run.
func (s *Syncer) bringUpToDate(ctx context.Context, a *account) error {
	for wait := 5 * time.Second; ; wait = min(2*wait, 5*time.Minute) {
		if _, scheduled := s.schedule.find(JobBackfill); !scheduled {
			break
		}
		err := s.tryJob(ctx, a, JobBackfill, true, wait, nil)
		if err == nil || errors.Is(err, errListRefused) {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errSuspended) {
			s.waitSuspended(ctx, a)
			continue
		}
		s.log.Warn().Str("account", a.Name).Dur("retry_in", wait).Err(err).Msg("backfill interrupted")
		pause.For(ctx, wait)
	}
	for _, job := range []string{JobCatchUp, JobWalk, JobRefresh, JobDirectory} {
		leave, err := a.acquireJob(ctx, job) // the run of an account that left may be ending
		if err != nil {
			return err
		}
		leave()
	}
	for {
		if err := s.makeUp(ctx, a); err != nil {
			return err
		}
		if err := s.awaitAcceptance(ctx, a); err != nil {
			return err
		}
		if err := s.renewDirectory(ctx, a); err != nil {
			return err
		}
	}
}

// renewDirectory reads the directory of an account that is accepted again, where jobs read it by
// a schedule and none has since: others' lists have taken the place of this account's.
func (s *Syncer) renewDirectory(ctx context.Context, a *account) error {
	last, err := s.lastOwnRun(ctx, a, JobDirectory)
	if _, scheduled := s.schedule.find(JobDirectory); err != nil || !scheduled || !last.Before(a.usableSince()) {
		return err
	}
	if err := s.tryJob(ctx, a, JobDirectory, false, 0, nil); err != nil && ctx.Err() == nil {
		s.log.Warn().Str("account", a.Name).Str("job", JobDirectory).Err(err).Msg("job failed")
	}
	return ctx.Err()
}

// awaitAcceptance returns when the service has accepted an account again. It looks once a
// minute.
func (s *Syncer) awaitAcceptance(ctx context.Context, a *account) error {
	if a.suspension() == nil {
		select {
		case <-a.judged:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil && s.checkUsable(ctx, a, false) != nil {
		pause.For(ctx, time.Minute)
	}
	return ctx.Err()
}

// makeUp runs the jobs of an account that were due and did not run. The network may come
// up later than this machine: those that fail are tried again, after ever longer pauses, until
// their next time comes.
func (s *Syncer) makeUp(ctx context.Context, a *account) error {
	const longest = time.Hour
	var began time.Time // of the present schedule here
	var change <-chan struct{}
	for wait := 5 * time.Second; ctx.Err() == nil; wait = min(2*wait, longest) {
		tables, latest := s.schedule.all()
		if latest != change {
			began, change = s.now(), latest
		}
		var failed error
		for _, table := range tables {
			last, err := s.lastOwnRun(ctx, a, table.job)
			if err != nil {
				return err
			}
			if now := s.now(); table.job == JobBackfill || !table.hasMissed(last, now) || !table.next(began).After(now) {
				continue
			}
			if err := s.tryJob(ctx, a, table.job, false, wait, nil); err != nil && ctx.Err() == nil {
				failed = err
				s.log.Warn().Str("account", a.Name).Str("job", table.job).Err(err).Msg("job failed")
			}
		}
		switch {
		case failed == nil:
			return ctx.Err()
		case errors.Is(failed, errSuspended):
			s.waitSuspended(ctx, a)
		default:
			pause.For(ctx, wait)
		}
	}
	return ctx.Err()
}

// keepReadingContent works on an account's content tasks until ctx ends. It
// looks at a suspended account once a minute. After an error of the archive it tries again, after
// ever longer pauses: each try spends heavy calls, in vain while the archive takes no writes.
func (s *Syncer) keepReadingContent(ctx context.Context, a *account) error {
	const shortest, longest = 10 * time.Second, time.Minute
	for wait := shortest; ctx.Err() == nil; wait = min(2*wait, longest) {
		began := s.now()
		err := s.checkUsable(ctx, a, false)
		if err == nil {
			err = s.processTasks(ctx, a, false, nil)
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errSuspended) {
			pause.For(ctx, time.Minute)
			continue
		}
		s.reportHealth("content of "+a.Name, err)
		if hasPassed(began, s.now(), longest) { // it worked meanwhile
			wait = shortest
		}
		pause.For(ctx, wait)
	}
	return ctx.Err()
}

// withPersonPriority gives calls the priority of a person who waits.
func withPersonPriority(ctx context.Context) context.Context {
	return api.WithPriority(ctx, api.PriorityPerson)
}
