package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
)

const staleAfter = 24 * time.Hour

// The kinds of walk. Each has a course of its own for every account and pass.
// stale is the age at which an interrupted walk is begun anew, except a
// backfill, whose pin makes it as good as ever.
// order is a walk that is to be made.
// key is the mark of the order's course; its windows are below it.
// judges tells whether the walk shows everything, so that what it lacks is gone.
// query is the order's list query between two times. The parts that cost no
// heavy call are always read.
// course is the mark of a walk: what it was begun as, and whether it is done.
type walkState struct {
	Started time.Time `json:"started"`
	After   time.Time `json:"after,omitzero"`
	Before  time.Time `json:"before,omitzero"`
	Again   bool      `json:"again,omitempty"`
	Content bool      `json:"content,omitempty"`
	Done    bool      `json:"done,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	// Walk and Listed identify the walk in the archive, of a kind that judges
	// absence.
	Walk   int64 `json:"walk,omitempty"`
	Listed int   `json:"listed,omitempty"`
	// Asked is when, by the service's clock, a catch-up asked for its first page.
	Asked time.Time `json:"asked,omitzero"`
	// Bounded and Unreadable say what its windows were like: whether all had a
	// bound of created_at, and how many items were no meetings.
	Bounded    bool `json:"bounded,omitempty"`
	Unreadable int  `json:"unreadable,omitempty"`
}

func (c walkState) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic("encode course: " + err.Error()) // times of this era always encode
	}
	return b
}

// courseOf reads the course of an order; ok is false when there is none.
func (s *Syncer) loadWalkState(ctx context.Context, o walkSpec) (c walkState, ok bool, err error) {
	b, err := s.archive.Mark(ctx, o.key())
	if err != nil || b == nil {
		return walkState{}, false, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return walkState{}, false, fmt.Errorf("read the course of a %s walk: %w", o.kind, err)
	}
	return c, true, nil
}

// open goes on with the order's course where it was interrupted, or begins a new
// one. It returns the windows that are not done.
func (s *Syncer) openWalk(ctx context.Context, o walkSpec, t *runStats) (walkState, []window, error) {
	c, ok, err := s.loadWalkState(ctx, o)
	if err != nil {
		return walkState{}, nil, err
	}
	old, err := s.archive.Marks(ctx, o.key()+"/w/")
	if err != nil {
		return walkState{}, nil, err
	}
	if ok && c.isResumable(o, s.now()) {
		windows, err := unfinishedWindows(old)
		t.addResumed(len(old) - len(windows))
		return c, windows, err
	}
	c = walkState{Started: s.now(), After: o.after, Before: o.before, Again: o.reread, Content: o.content}
	cuts, err := s.planCuts(ctx, o)
	if err != nil {
		return walkState{}, nil, err
	}
	if o.judgesAbsence() {
		w, err := s.archive.BeginWalk(ctx, o.account.Name, o.list.Name)
		if err != nil {
			return walkState{}, nil, err
		}
		c.Walk, c.Listed = w.Number, w.Listed
	}
	if len(cuts) == 0 {
		c.Before = time.Time{} // a list without bounds shows more
	}
	windows := windowsBetween(c.After, c.Before, cuts)
	var marks []archive.Mark
	for key := range old {
		marks = append(marks, archive.Mark{Key: key})
	}
	for _, w := range windows {
		marks = append(marks, archive.Mark{Key: windowKey(o.key(), w.N), Value: w.encode()})
	}
	marks = append(marks, archive.Mark{Key: o.key(), Value: c.encode()})
	return c, windows, s.archive.SetMarks(ctx, marks...)
}

// resumable tells whether an interrupted course still serves the order. That of
// a catch-up does not: what was created since lies before its cursor. Neither
// does the second look of a full walk, which reads no content.
func (c walkState) isResumable(o walkSpec, now time.Time) bool {
	switch {
	case c.Done, o.kind == kindNew, o.kind == kindSince && !c.After.Equal(o.after), o.judgesAbsence() && c.Walk == 0,
		o.kind == kindFull && c.Content != o.content:
		return false
	}
	return o.kind == kindBackfill || distance(c.Started, now) < staleAfter
}

func unfinishedWindows(marks map[string][]byte) ([]window, error) {
	var windows []window
	for _, b := range marks {
		w, err := decodeWindow(b)
		if err != nil {
			return nil, err
		}
		if !w.Done {
			windows = append(windows, w)
		}
	}
	slices.SortFunc(windows, func(a, b window) int { return a.N - b.N })
	return windows, nil
}

// close marks the course as done, with what its windows were like, and removes
// them.
func (s *Syncer) closeWalk(ctx context.Context, o walkSpec, c walkState) (walkState, error) {
	old, err := s.archive.Marks(ctx, o.key()+"/w/")
	if err != nil {
		return c, err
	}
	c.Done, c.Ended, c.Bounded = true, s.now(), true
	var marks []archive.Mark
	for key, b := range old {
		w, err := decodeWindow(b)
		if err != nil {
			return c, err
		}
		c.Bounded = c.Bounded && (!w.After.IsZero() || !w.Before.IsZero())
		c.Unreadable += w.Unreadable
		if c.Asked.IsZero() || w.Asked.Before(c.Asked) {
			c.Asked = w.Asked
		}
		marks = append(marks, archive.Mark{Key: key})
	}
	return c, s.archive.SetMarks(ctx, append(marks, archive.Mark{Key: o.key(), Value: c.encode()})...)
}

// cuts returns where an order's windows are divided. Walks without content are
// not: their pages are quick, and only a list without bounds of created_at shows
// a meeting that has no such time.
func (s *Syncer) planCuts(ctx context.Context, o walkSpec) ([]time.Time, error) {
	if !o.survey {
		return nil, nil
	}
	samples, err := s.surveyHistory(ctx, o)
	if err != nil {
		return nil, err
	}
	return cutHistory(samples, maxWindows), nil
}

// passName makes a pass readable in logs and failures.
func describeList(p listQuery) string {
	if p.Name == "" {
		return "all meetings"
	}
	kind, _, _ := strings.Cut(p.Name, ":")
	return kind + " " + strings.Join(append(slices.Clone(p.RecordedBy), p.Teams...), ", ")
}
