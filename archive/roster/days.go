package roster

import (
	"context"
	"hash/maphash"
	"time"
)

// Day counts the meetings of a day.
type Day struct {
	Meetings int
	Time     time.Duration
}

// Calendar has the days with meetings.
type Calendar struct {
	Days           map[time.Time]Day // by their dates, at midnight in UTC
	Oldest, Newest time.Time         // starts of the first and last meeting that the viewer sees; zero without one
}

// Calendar counts the meetings of each day at or after from and before to. Days begin in
// the zone of from.
func (r *Roster) Calendar(ctx context.Context, q View, from, to time.Time) (Calendar, error) {
	c := Calendar{Days: map[time.Time]Day{}}
	loc := from.Location()
	low, high := from.UnixMilli(), to.UnixMilli()
	err := r.open(ctx, q, func(v *view) error {
		for m := range v.visible() {
			if m.start == 0 {
				continue // its time is not known
			}
			c.Oldest = time.UnixMilli(m.start).In(loc)
			if c.Newest.IsZero() {
				c.Newest = c.Oldest
			}
			if m.start < low || m.start >= high {
				continue
			}
			y, month, d := c.Oldest.Date()
			at := time.Date(y, month, d, 0, 0, 0, 0, time.UTC)
			day := c.Days[at]
			day.Meetings++
			day.Time += m.duration()
			c.Days[at] = day
		}
		return nil
	})
	return c, err
}

// Counts is how much a viewer sees.
type Counts struct{ Meetings, Transcripts, Recordings int }

// Count counts the meetings that a viewer sees, gone ones included.
func (r *Roster) Count(ctx context.Context, q View) (c Counts, err error) {
	err = r.open(ctx, q, func(v *view) error {
		for m := range v.visible() {
			c.Meetings++
			if m.transcript {
				c.Transcripts++
			}
			if m.recording {
				c.Recordings++
			}
		}
		return nil
	})
	return c, err
}

// Digest returns a digest of the meetings that a viewer sees, gone ones included. It differs
// as soon as they are others; those of another Roster say nothing.
func (r *Roster) Digest(ctx context.Context, q View) (sum uint64, err error) {
	err = r.open(ctx, q, func(v *view) error {
		for m := range v.visible() {
			sum += maphash.Comparable(r.seed, m.id)
		}
		return nil
	})
	return sum, err
}
