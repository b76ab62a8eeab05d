package syncer

import (
	"context"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
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
	low := api.WithPriority(ctx, api.PriorityLater) // calls that nothing else wants
	return a.eachList(ctx, func(p listQuery) error {
		if err := s.wantBackfilled(ctx, a, p); err != nil {
			return err
		}
		recent := walkSpec{kind: kindRecent, account: a, list: p, content: true, reread: true, after: s.now().Add(-recentPeriod)}
		if _, err := s.walk(ctx, recent, t); err != nil {
			return err
		}
		if err := s.continueRotation(low, a, p, t); err != nil {
			return fmt.Errorf("read %s of account %s again: %w", describeList(p), a.Name, err)
		}
		return nil
	})
}

// rotation is the state of a rotation through older content. It is a mark.
type rotation struct {
	Began  time.Time `json:"began"`
	Before time.Time `json:"before"` // meetings created later are left out
	Cursor string    `json:"cursor,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"` // the oldest meeting read so far
	Ended  bool      `json:"over,omitempty"`
}

// rotationKey is the key of the mark of a list query's rotation.
func rotationKey(a *account, p listQuery) string { return a.markKey("sync/rotation") + "/" + p.Name }

// continueRotation reads the next part of a rotation. It reads nothing until a
// month after the last rotation began. If the list is in another order than
// expected, some meetings wait for the next rotation.
func (s *Syncer) continueRotation(ctx context.Context, a *account, p listQuery, t *runStats) error {
	r, err := s.loadRotation(ctx, a, p)
	if err != nil {
		return err
	}
	if r.Ended {
		if !hasPassed(r.Began, s.now(), rotationPeriod) {
			return nil
		}
		r = rotation{Began: s.now(), Before: s.now().Add(-recentPeriod)}
	}
	c, err := s.archive.Counts(ctx)
	if err != nil {
		return err
	}
	o := walkSpec{account: a, list: p, content: true, reread: true, spare: true}
	for pages := max(minRotationPages, c.Meetings/pageSize/rotationNights+1); pages > 0 && !r.Ended; pages-- {
		if r, err = s.readRotationPage(ctx, o, r, t); err != nil {
			return err
		}
	}
	return nil
}

// readRotationPage reads one page of a rotation and saves its cursor together
// with it. After a refused cursor the rotation resumes above the oldest meeting that it has
// read: by a day, since the list may be in another order, and by an eighth of the time that the
// cursor before has covered at most. So it goes on where cursors live for less than a night
// and a day has more meetings than a night reads.
func (s *Syncer) readRotationPage(ctx context.Context, o walkSpec, r rotation, t *runStats) (rotation, error) {
	page, err := s.fetchPage(ctx, o, time.Time{}, r.Before, r.Cursor)
	if api.IsCursorRefused(err) && r.Cursor != "" {
		r.Cursor = ""
		above := r.Oldest.Add(max(boundMargin, min(24*time.Hour, r.Before.Sub(r.Oldest)/8)))
		if !r.Oldest.IsZero() && above.Before(r.Before) {
			r.Before = above
		}
		return r, s.archive.SetMarks(ctx, newMark(rotationKey(o.account, o.list), r))
	}
	if err != nil {
		return r, err
	}
	for _, raw := range page.Items {
		if at := createdAt(raw); !at.IsZero() && (r.Oldest.IsZero() || at.Before(r.Oldest)) {
			r.Oldest = at
		}
	}
	r.Ended = page.NextCursor == "" || page.NextCursor == r.Cursor
	r.Cursor = page.NextCursor
	return r, s.applyPage(ctx, page, t, func() archive.Mark { return newMark(rotationKey(o.account, o.list), r) })
}

// loadRotation reads the state of a rotation. The backfill counts as the first
// rotation, since it read everything.
func (s *Syncer) loadRotation(ctx context.Context, a *account, p listQuery) (rotation, error) {
	r, ok, err := loadMark[rotation](ctx, s.archive, rotationKey(a, p))
	if err != nil || ok {
		return r, err
	}
	c, _, err := s.loadWalkState(ctx, walkSpec{kind: kindBackfill, account: a, list: p})
	return rotation{Began: c.Started, Ended: true}, err
}
