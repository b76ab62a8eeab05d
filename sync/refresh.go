package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

const (
	// rotation is how often content older than a week is read again.
	rotation = 30 * 24 * time.Hour
	// nights is in how many runs a rotation is done, with some to spare.
	nights = 25
	// fewest is the least number of pages of a run.
	fewest = 4
)

// refresh reads content again: all of the last seven days, and a part of what is
// older, so that everything is read again about once a month. Nothing tells of an
// edit but reading again.
func (s *Syncer) refresh(ctx context.Context, a *account, t *tally) error {
	if ok, err := s.backfilled(ctx, a); err != nil || !ok {
		return err
	}
	recent := order{kind: kindRecent, content: true, again: true, after: s.now().Add(-recently)}
	if err := s.each(ctx, a, recent, t); err != nil {
		return err
	}
	ctx = api.WithPriority(ctx, api.PriorityLater) // with what is left of the budget
	for _, p := range a.passes {
		if err := s.rotate(ctx, a, p, t); err != nil {
			return fmt.Errorf("read %s of account %s again: %w", passName(p), a.Name, err)
		}
	}
	return nil
}

// turn is the mark of a rotation: how far back it has read.
type turn struct {
	Began  time.Time `json:"began"`
	Before time.Time `json:"before"` // the pin
	Cursor string    `json:"cursor,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"` // the oldest meeting read so far
	Over   bool      `json:"over,omitempty"`
}

func turnKey(a *account, p pass) string { return a.mark("sync/rotation") + "/" + p.Name }

// rotate reads the next part of a rotation, or nothing when the last one is not
// a month old. Where the order of the list is not what it seems, some meetings
// are read in a later rotation than they should be.
func (s *Syncer) rotate(ctx context.Context, a *account, p pass, t *tally) error {
	r, err := s.turnOf(ctx, a, p)
	if err != nil {
		return err
	}
	if r.Over {
		if elapsed(r.Began, s.now()) < rotation {
			return nil
		}
		r = turn{Began: s.now(), Before: s.now().Add(-recently)}
	}
	c, err := s.archive.Counts(ctx)
	if err != nil {
		return err
	}
	o := order{account: a, pass: p, content: true, again: true, spare: true}
	for pages := max(fewest, c.Meetings/pageSize/nights+1); pages > 0 && !r.Over; pages-- {
		if r, err = s.turnPage(ctx, o, r, t); err != nil {
			return err
		}
	}
	return nil
}

// turnPage reads one page of a rotation and keeps its cursor with it. After a
// refused cursor it goes on a day above the oldest meeting it has seen.
func (s *Syncer) turnPage(ctx context.Context, o order, r turn, t *tally) (turn, error) {
	page, err := s.list(ctx, o, time.Time{}, r.Before, r.Cursor)
	if api.IsCursorRefused(err) && r.Cursor != "" {
		r.Cursor = ""
		if above := r.Oldest.Add(24 * time.Hour); !r.Oldest.IsZero() && above.Before(r.Before) {
			r.Before = above
		}
		return r, s.archive.SetMarks(ctx, archive.Mark{Key: turnKey(o.account, o.pass), Value: r.encode()})
	}
	if err != nil {
		return r, err
	}
	for _, raw := range page.Items {
		if at := createdAt(raw); !at.IsZero() && (r.Oldest.IsZero() || at.Before(r.Oldest)) {
			r.Oldest = at
		}
	}
	r.Over = page.NextCursor == "" || page.NextCursor == r.Cursor
	r.Cursor = page.NextCursor
	return r, s.take(ctx, o, page, t, archive.Mark{Key: turnKey(o.account, o.pass), Value: r.encode()})
}

// turnOf reads how far a rotation has come. Before the first one the backfill
// counts as one: it has read everything.
func (s *Syncer) turnOf(ctx context.Context, a *account, p pass) (r turn, err error) {
	b, err := s.archive.Mark(ctx, turnKey(a, p))
	if err != nil {
		return turn{}, err
	}
	if b == nil {
		c, _, err := s.courseOf(ctx, order{kind: kindBackfill, account: a, pass: p})
		return turn{Began: c.Started, Over: true}, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return turn{}, fmt.Errorf("read how far the rotation is: %w", err)
	}
	return r, nil
}

func (r turn) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("encode turn: " + err.Error()) // times of this era always encode
	}
	return b
}
