package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
)

const (
	// overlap is how far a catch-up reaches back behind the last one: a meeting's
	// created_at is stamped before it is listed.
	overlap = 2 * time.Hour
	// recentPeriod is how long after its creation a meeting's content is read again
	// every night.
	recentPeriod = 7 * 24 * time.Hour

	lastRunPrefix = "sync/ran/"
)

// errBackfillFirst ends a run that did nothing, since the account's backfill has not come
// so far: no failure, and no success.
var errBackfillFirst = errors.New("the backfill comes first")

// errListRefused ends a run in which the service refused some lists of the account, and all others
// were read: those that it refused are read at the job's next time.
var errListRefused = errors.New("the service refuses a list and shows the others; where the account's teams or recorded_by name what does not exist any more, correct them")

// eachList reads all lists of an account: one that fails holds up no other. Those for which read
// fails with errBackfillFirst are left out; the run fails with it where they are all of them.
func (a *account) eachList(ctx context.Context, read func(listQuery) error) error {
	var failed []error
	succeeded, isRefused := 0, true
	for _, p := range a.lists {
		err := read(p)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			succeeded++
		case errors.Is(err, errSuspended), errors.Is(err, errLeft), isLocal(err):
			return err
		case !errors.Is(err, errBackfillFirst):
			failed = append(failed, err)
			isRefused = isRefused && api.IsRefused(err)
		}
	}
	switch err := errors.Join(failed...); {
	case succeeded+len(failed) == 0:
		return errBackfillFirst
	case err != nil && isRefused && succeeded > 0:
		return fmt.Errorf("%w: %w", errListRefused, err)
	default:
		return err
	}
}

// runBackfill reads the full history with content, once for each list query,
// and resumes where it was interrupted, also where an earlier holder of the account began: heavy
// calls are few, and the light walk after it shows the rest. List queries that a changed
// configuration adds are read by its next run.
func (s *Syncer) runBackfill(ctx context.Context, a *account, t *runStats) error {
	read, oldest := false, s.now() // when the reading began of the list that was read first
	refused := a.eachList(ctx, func(p listQuery) error {
		o := walkSpec{kind: kindBackfill, account: a, list: p, content: true, before: s.now(), survey: true}
		c, _, err := s.loadWalkState(ctx, o)
		if err != nil {
			return err
		}
		if !c.Done {
			if c, err = s.walk(ctx, o, t); err != nil {
				return err
			}
			if c.Bounded { // such a list shows no meeting without created_at
				low := api.WithPriority(ctx, api.PriorityLater)
				if err := s.walkWithAbsences(low, walkSpec{kind: kindLight, account: a, list: p}, nil); err != nil {
					return err
				}
			}
			read = true
		}
		oldest = earlier(oldest, c.Started)
		return nil
	})
	if !read || refused != nil && !errors.Is(refused, errListRefused) {
		return refused
	}
	if refused == nil {
		s.log.Info().Str("account", a.Name).Msg("backfill is complete")
	}
	now := s.now()
	if isOther, err := s.isOfEarlierHolder(ctx, a, oldest); err != nil || isOther || hasPassed(oldest, now, overdueAfter) {
		// The lists showed other meetings to an earlier holder, or long ago: the night's jobs run at once.
		return errors.Join(refused, err)
	}
	// The backfill has just read everything that the night's jobs would read.
	return errors.Join(refused, s.setLastRun(ctx, a, JobWalk, now), s.setLastRun(ctx, a, JobRefresh, now))
}

// wantBackfilled fails with errBackfillFirst until the full history of a list query was read.
func (s *Syncer) wantBackfilled(ctx context.Context, a *account, p listQuery) error {
	c, _, err := s.loadWalkState(ctx, walkSpec{kind: kindBackfill, account: a, list: p})
	if err == nil && !c.Done {
		return errBackfillFirst
	}
	return err
}

// isBackfilled reports whether the full history of every list query was read.
func (s *Syncer) isBackfilled(ctx context.Context, a *account) (bool, error) {
	for _, p := range a.lists {
		if err := s.wantBackfilled(ctx, a, p); errors.Is(err, errBackfillFirst) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// rereadAll reads the full history again, on request.
func (s *Syncer) rereadAll(ctx context.Context, a *account, t *runStats) error {
	return a.eachList(ctx, func(p listQuery) error {
		return s.walkWithAbsences(ctx, walkSpec{kind: kindFull, account: a, list: p, content: true, reread: true, survey: true}, t)
	})
}

// rereadSince reads everything created after a time again, on request.
func (s *Syncer) rereadSince(ctx context.Context, a *account, from time.Time, t *runStats) error {
	return a.eachList(ctx, func(p listQuery) error {
		_, err := s.walk(ctx, walkSpec{kind: kindSince, account: a, list: p, content: true, reread: true, after: from}, t)
		return err
	})
}

// runLightWalk reads all lists without a heavy call. It finds edits and
// meetings that were shared meanwhile; meetings that a complete walk did not
// list were removed upstream.
func (s *Syncer) runLightWalk(ctx context.Context, a *account, t *runStats) error {
	return a.eachList(ctx, func(p listQuery) error {
		if err := s.wantBackfilled(ctx, a, p); err != nil {
			return err
		}
		return s.walkWithAbsences(ctx, walkSpec{kind: kindLight, account: a, list: p}, t)
	})
}

// runCatchUp reads the meetings created since the last catch-up, with an
// overlap. During the first backfill it begins where the backfill began.
func (s *Syncer) runCatchUp(ctx context.Context, a *account, t *runStats) error {
	return a.eachList(ctx, func(p listQuery) error {
		from, err := s.catchUpStart(ctx, a, p)
		if err != nil {
			return err
		}
		if from.IsZero() {
			return errBackfillFirst // it has not begun
		}
		_, err = s.walk(ctx, walkSpec{kind: kindNew, account: a, list: p, after: from}, t)
		return err
	})
}

// catchUpStart returns the time from which a list query may show meetings that
// no walk has seen, zero before its backfill has begun. The time is the
// service's, which stamps created_at, since the clock here may have been ahead
// at the last catch-up.
func (s *Syncer) catchUpStart(ctx context.Context, a *account, p listQuery) (time.Time, error) {
	c, ok, err := s.loadWalkState(ctx, walkSpec{kind: kindNew, account: a, list: p})
	if err != nil {
		return time.Time{}, err
	}
	if ok && !c.Done {
		return c.After, nil // it was interrupted: begin where it began
	}
	if !ok {
		if c, ok, err = s.loadWalkState(ctx, walkSpec{kind: kindBackfill, account: a, list: p}); err != nil || !ok {
			return time.Time{}, err
		}
	}
	if !c.Asked.IsZero() && c.Asked.Before(c.Started) {
		c.Started = c.Asked
	}
	return c.Started.Add(-overlap), nil
}

// lastRun returns when the last successful run of a job began, zero when none
// did.
func (s *Syncer) lastRun(ctx context.Context, a *account, job string) (time.Time, error) {
	at, _, err := loadMark[time.Time](ctx, s.archive, a.markKey(lastRunPrefix+job))
	return at, err
}

// lastOwnRun is lastRun, and zero as well where the account had another holder then, whose
// lists say nothing of the present one's.
func (s *Syncer) lastOwnRun(ctx context.Context, a *account, job string) (time.Time, error) {
	at, err := s.lastRun(ctx, a, job)
	if err != nil {
		return at, err
	}
	if isOther, err := s.isOfEarlierHolder(ctx, a, at); err != nil || isOther {
		return time.Time{}, err
	}
	return at, nil
}

// isOfEarlierHolder reports whether the account had another holder at a time.
func (s *Syncer) isOfEarlierHolder(ctx context.Context, a *account, at time.Time) (bool, error) {
	since, err := s.archive.HolderSince(ctx, a.Name)
	return at.Before(since), err
}

// setLastRun records when the last successful run of a job began.
func (s *Syncer) setLastRun(ctx context.Context, a *account, job string, at time.Time) error {
	return s.archive.SetMarks(ctx, newMark(a.markKey(lastRunPrefix+job), at))
}
