package syncer

import (
	"context"
	"errors"
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

// runBackfill reads the full history with content, once for each list query,
// and resumes where it was interrupted, also where an earlier holder of the account began: heavy
// calls are few, and the light walk after it shows the rest. List queries that a changed
// configuration adds are read by its next run.
func (s *Syncer) runBackfill(ctx context.Context, a *account, t *runStats) error {
	read, isOwn := false, true
	for _, p := range a.lists {
		o := walkSpec{kind: kindBackfill, account: a, list: p, content: true, before: s.now(), survey: true}
		c, ok, err := s.loadWalkState(ctx, o)
		if err != nil {
			return err
		}
		if ok {
			isOther, err := s.isOfEarlierHolder(ctx, a, c.Started)
			if err != nil {
				return err
			}
			isOwn = isOwn && !isOther
		}
		if ok && c.Done {
			continue
		}
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
	if !read {
		return nil
	}
	s.log.Info().Str("account", a.Name).Msg("backfill is complete")
	if !isOwn { // an earlier holder was shown other meetings: the night's jobs run at once
		return nil
	}
	// The backfill has just read everything that the night's jobs would read.
	now := s.now()
	return errors.Join(s.setLastRun(ctx, a, JobWalk, now), s.setLastRun(ctx, a, JobRefresh, now))
}

// wantBackfilled fails with errBackfillFirst until isBackfilled.
func (s *Syncer) wantBackfilled(ctx context.Context, a *account) error {
	ok, err := s.isBackfilled(ctx, a)
	if err == nil && !ok {
		return errBackfillFirst
	}
	return err
}

// isBackfilled reports whether the full history of every list query was read.
func (s *Syncer) isBackfilled(ctx context.Context, a *account) (bool, error) {
	for _, p := range a.lists {
		c, ok, err := s.loadWalkState(ctx, walkSpec{kind: kindBackfill, account: a, list: p})
		if err != nil || !ok || !c.Done {
			return false, err
		}
	}
	return true, nil
}

// rereadAll reads the full history again, on request.
func (s *Syncer) rereadAll(ctx context.Context, a *account, t *runStats) error {
	for _, p := range a.lists {
		o := walkSpec{kind: kindFull, account: a, list: p, content: true, reread: true, survey: true}
		if err := s.walkWithAbsences(ctx, o, t); err != nil {
			return err
		}
	}
	return nil
}

// rereadSince reads everything created after a time again, on request.
func (s *Syncer) rereadSince(ctx context.Context, a *account, from time.Time, t *runStats) error {
	return s.walkEach(ctx, a, walkSpec{kind: kindSince, content: true, reread: true, after: from}, t)
}

// walkEach makes the same walk for each list query.
func (s *Syncer) walkEach(ctx context.Context, a *account, o walkSpec, t *runStats) error {
	o.account = a
	for _, o.list = range a.lists {
		if _, err := s.walk(ctx, o, t); err != nil {
			return err
		}
	}
	return nil
}

// runLightWalk reads all lists without a heavy call. It finds edits and
// meetings that were shared meanwhile; meetings that a complete walk did not
// list were removed upstream.
func (s *Syncer) runLightWalk(ctx context.Context, a *account, t *runStats) error {
	if err := s.wantBackfilled(ctx, a); err != nil {
		return err
	}
	for _, p := range a.lists {
		if err := s.walkWithAbsences(ctx, walkSpec{kind: kindLight, account: a, list: p}, t); err != nil {
			return err
		}
	}
	return nil
}

// runCatchUp reads the meetings created since the last catch-up, with an
// overlap. During the first backfill it begins where the backfill began.
func (s *Syncer) runCatchUp(ctx context.Context, a *account, t *runStats) error {
	idle := true
	for _, p := range a.lists {
		from, err := s.catchUpStart(ctx, a, p)
		if err != nil {
			return err
		}
		if from.IsZero() {
			continue // its backfill has not begun
		}
		idle = false
		if _, err := s.walk(ctx, walkSpec{kind: kindNew, account: a, list: p, after: from}, t); err != nil {
			return err
		}
	}
	if idle {
		return errBackfillFirst
	}
	return nil
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
