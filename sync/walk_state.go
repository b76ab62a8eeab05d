package syncer

import (
	"context"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
)

// staleAfter is the age at which an interrupted walk is begun anew. A backfill
// is always resumed: its upper bound is fixed.
const staleAfter = 24 * time.Hour

// walkState is the state of a walk. It is a mark.
type walkState struct {
	Started time.Time `json:"started"`
	After   time.Time `json:"after,omitzero"`
	Before  time.Time `json:"before,omitzero"`
	Again   bool      `json:"again,omitempty"`
	Content bool      `json:"content,omitempty"`
	Done    bool      `json:"done,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	// Walk and Listed identify the walk in the archive, if it judges absence.
	Walk   int64 `json:"walk,omitempty"`
	Listed int   `json:"listed,omitempty"`
	// Asked is when the walk requested its first page, by the service's clock.
	Asked time.Time `json:"asked,omitzero"`
	// Bounded means that all windows had a bound of created_at. Unreadable counts
	// the items that were no meetings.
	Bounded    bool `json:"bounded,omitempty"`
	Unreadable int  `json:"unreadable,omitempty"`
}

// loadWalkState reads the state of a walk; ok is false when there is none.
func (s *Syncer) loadWalkState(ctx context.Context, o walkSpec) (c walkState, ok bool, err error) {
	return loadMark[walkState](ctx, s.archive, o.key())
}

// openWalk resumes an interrupted walk, or begins a new one. It returns the
// windows that are not finished.
func (s *Syncer) openWalk(ctx context.Context, o walkSpec, t *runStats) (walkState, []window, error) {
	c, ok, err := s.loadWalkState(ctx, o)
	if err != nil {
		return walkState{}, nil, err
	}
	old, err := s.archive.Marks(ctx, o.key()+"/w/")
	if err != nil {
		return walkState{}, nil, err
	}
	if ok && o.judgesAbsence() { // meetings that another holder was shown are no part of this one's list
		isOther, err := s.isOfEarlierHolder(ctx, o.account, c.Started)
		if err != nil {
			return walkState{}, nil, err
		}
		ok = !isOther
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
		marks = append(marks, newMark(windowKey(o.key(), w.N), w))
	}
	marks = append(marks, newMark(o.key(), c))
	return c, windows, s.archive.SetMarks(ctx, marks...)
}

// isResumable reports whether an interrupted walk can be resumed for the spec.
// A catch-up cannot: meetings created since lie before its cursor. Neither can
// the second look of a full walk, which reads no content.
func (c walkState) isResumable(o walkSpec, now time.Time) bool {
	switch {
	case c.Done, o.kind == kindNew, o.kind == kindSince && !c.After.Equal(o.after), o.judgesAbsence() && c.Walk == 0,
		o.kind == kindFull && c.Content != o.content:
		return false
	}
	return o.kind == kindBackfill || now.Sub(c.Started).Abs() < staleAfter
}

// unfinishedWindows decodes marks and returns the windows that are not done. One that was given up
// begins anew, since the service may take the cursors that it gives now.
func unfinishedWindows(marks map[string][]byte) ([]window, error) {
	var windows []window
	for key, b := range marks {
		w, err := decodeMark[window](key, b)
		if err != nil {
			return nil, err
		}
		if w.Done {
			continue
		}
		if w.Restarts >= maxRestarts {
			w = window{N: w.N, After: w.After, Before: w.Before}
		}
		windows = append(windows, w)
	}
	slices.SortFunc(windows, func(a, b window) int { return a.N - b.N })
	return windows, nil
}

// closeWalk marks the walk as done, with a summary of its windows, and removes
// their marks.
func (s *Syncer) closeWalk(ctx context.Context, o walkSpec, c walkState) (walkState, error) {
	old, err := s.archive.Marks(ctx, o.key()+"/w/")
	if err != nil {
		return c, err
	}
	c.Done, c.Ended, c.Bounded = true, s.now(), true
	var marks []archive.Mark
	for key, b := range old {
		w, err := decodeMark[window](key, b)
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
	return c, s.archive.SetMarks(ctx, append(marks, newMark(o.key(), c))...)
}

// planCuts returns where the walk's windows are divided. Only surveyed walks
// are divided: pages without content are quick, and a list without bounds of
// created_at shows meetings that have no such time.
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

// describeList names a list query for logs and failures.
func describeList(p listQuery) string {
	if p.Name == "" {
		return "all meetings"
	}
	kind, _, _ := strings.Cut(p.Name, ":")
	return kind + " " + strings.Join(append(slices.Clone(p.RecordedBy), p.Teams...), ", ")
}
