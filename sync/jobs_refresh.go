package syncer

import (
	"context"
	"fmt"
	"time"

	"minutebook/api"
)

const (
	// rotation is how often content older than a week is read again.
	rotationPeriod = 30 * 24 * time.Hour
	// nights is in how many runs a rotation is done, with some to spare.
	rotationNights = 25
	// fewest is the least number of pages of a run.
	minRotationPages = 4
)

// refresh reads content again: all of the last seven days, and a part of what is
// older, so that everything is read again about once a month. Nothing tells of an
// edit but reading again.
func (s *Syncer) runRefresh(ctx context.Context, a *account, t *runStats) error {
	if ok, err := s.isBackfilled(ctx, a); err != nil || !ok {
		return err
	}
	recent := walkSpec{kind: kindRecent, content: true, reread: true, after: s.now().Add(-recentPeriod)}
	if err := s.walkEach(ctx, a, recent, t); err != nil {
		return err
	}
	ctx = api.WithPriority(ctx, api.PriorityLater) // with what is left of the budget
	for _, p := range a.lists {
		if err := s.continueRotation(ctx, a, p, t); err != nil {
			return fmt.Errorf("read %s of account %s again: %w", describeList(p), a.Name, err)
		}
	}
	return nil
}

// turn is the mark of a rotation: how far back it has read.
// rotate reads the next part of a rotation, or nothing when the last one is not
// a month old. Where the order of the list is not what it seems, some meetings
// are read in a later rotation than they should be.
// turnPage reads one page of a rotation and keeps its cursor with it. After a
// refused cursor it goes on a day above the oldest meeting it has seen.
// turnOf reads how far a rotation has come. Before the first one the backfill
// counts as one: it has read everything.
