package syncer

import (
	"context"
	"fmt"
	"time"

	"minutebook/api"
)

const (
	// rotationPeriod is how often content older than a week is read again.
	rotationPeriod = 30 * 24 * time.Hour
	// rotationNights is how many runs a rotation takes; it leaves some to spare.
	rotationNights = 25
	// minRotationPages is the least number of pages of a run.
	minRotationPages = 4
)

// runRefresh reads content again: that of the last seven days, and a part of
// everything older, so that all of it is read again about once a month. The
// service does not announce edits.
func (s *Syncer) runRefresh(ctx context.Context, a *account, t *runStats) error {
	if ok, err := s.isBackfilled(ctx, a); err != nil || !ok {
		return err
	}
	recent := walkSpec{kind: kindRecent, content: true, reread: true, after: s.now().Add(-recentPeriod)}
	if err := s.walkEach(ctx, a, recent, t); err != nil {
		return err
	}
	ctx = api.WithPriority(ctx, api.PriorityLater) // calls that nothing else wants
	for _, p := range a.lists {
		if err := s.continueRotation(ctx, a, p, t); err != nil {
			return fmt.Errorf("read %s of account %s again: %w", describeList(p), a.Name, err)
		}
	}
	return nil
}
