package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// The kinds of walk. Each has a course of its own for every account and pass.
const (
	kindBackfill = "backfill" // the full history, once
	kindFull     = "full"     // the full history again, on request
	kindSince    = "since"    // from a day on, on request
	kindLight    = "light"    // everything, without content
	kindRecent   = "recent"   // the content of the last days again
	kindNew      = "new"      // what was created since the last look
)

// stale is the age at which an interrupted walk is begun anew, except a
// backfill, whose pin makes it as good as ever.
const stale = 24 * time.Hour

// order is a walk that is to be made.
type order struct {
	kind    string
	account *account
	pass    pass
	content bool // with transcripts and summaries
	again   bool // content that is in the archive is read again
	spare   bool // with what is left of the budget
	after   time.Time
	before  time.Time // the pin
	survey  bool      // worth finding out how meetings are spread over time
}

// key is the mark of the order's course; its windows are below it.
func (o order) key() string {
	return o.account.mark("sync/walk/"+o.kind) + "/" + o.pass.Name
}

func windowKey(key string, n int) string { return fmt.Sprintf("%s/w/%04d", key, n) }

// judges tells whether the walk shows everything, so that what it lacks is gone.
func (o order) judges() bool { return o.kind == kindLight || o.kind == kindFull }

// query is the order's list query between two times. The parts that cost no
// heavy call are always read.
func (o order) query(after, before time.Time) api.MeetingQuery {
	inline := o.content && !o.account.OAuth
	return api.MeetingQuery{
		CreatedAfter: after, CreatedBefore: before,
		RecordedBy: o.pass.RecordedBy, Teams: o.pass.Teams,
		IncludeTranscript: inline, IncludeSummary: inline,
		IncludeActionItems: true, IncludeHighlights: true, IncludeCRM: true,
	}
}

// course is the mark of a walk: what it was begun as, and whether it is done.
type course struct {
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

func (c course) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic("encode course: " + err.Error()) // times of this era always encode
	}
	return b
}

// courseOf reads the course of an order; ok is false when there is none.
func (s *Syncer) courseOf(ctx context.Context, o order) (c course, ok bool, err error) {
	b, err := s.archive.Mark(ctx, o.key())
	if err != nil || b == nil {
		return course{}, false, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return course{}, false, fmt.Errorf("read the course of a %s walk: %w", o.kind, err)
	}
	return c, true, nil
}

// open goes on with the order's course where it was interrupted, or begins a new
// one. It returns the windows that are not done.
func (s *Syncer) open(ctx context.Context, o order, t *tally) (course, []window, error) {
	c, ok, err := s.courseOf(ctx, o)
	if err != nil {
		return course{}, nil, err
	}
	old, err := s.archive.Marks(ctx, o.key()+"/w/")
	if err != nil {
		return course{}, nil, err
	}
	if ok && c.resumable(o, s.now()) {
		windows, err := unfinished(old)
		t.resumed(len(old) - len(windows))
		return c, windows, err
	}
	c = course{Started: s.now(), After: o.after, Before: o.before, Again: o.again, Content: o.content}
	cuts, err := s.cuts(ctx, o)
	if err != nil {
		return course{}, nil, err
	}
	if o.judges() {
		w, err := s.archive.BeginWalk(ctx, o.account.Name, o.pass.Name)
		if err != nil {
			return course{}, nil, err
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
func (c course) resumable(o order, now time.Time) bool {
	switch {
	case c.Done, o.kind == kindNew, o.kind == kindSince && !c.After.Equal(o.after), o.judges() && c.Walk == 0,
		o.kind == kindFull && c.Content != o.content:
		return false
	}
	return o.kind == kindBackfill || elapsed(c.Started, now) < stale
}

func unfinished(marks map[string][]byte) ([]window, error) {
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
func (s *Syncer) close(ctx context.Context, o order, c course) (course, error) {
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
func (s *Syncer) cuts(ctx context.Context, o order) ([]time.Time, error) {
	if !o.survey {
		return nil, nil
	}
	samples, err := s.survey(ctx, o)
	if err != nil {
		return nil, err
	}
	return layout(samples, maxWindow), nil
}

// passName makes a pass readable in logs and failures.
func passName(p pass) string {
	if p.Name == "" {
		return "all meetings"
	}
	kind, _, _ := strings.Cut(p.Name, ":")
	return kind + " " + strings.Join(append(slices.Clone(p.RecordedBy), p.Teams...), ", ")
}
