package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"minutebook/archive"
	"minutebook/internal/guard"
	"minutebook/search/query"
	"minutebook/search/segment"
)

// Bounds of an answer.
const (
	defaultMeetings = 10
	maxMeetings     = 100
	defaultMoments  = 3
	maxMoments      = 20
	maxWithin       = 1000 // moments, of Request.Within
)

// Search answers a request. It fails with a *QueryError when the query cannot
// be read, with ErrCursor when Request.After is not of this query, and with
// [segment.ErrDamaged] when it meets damage.
func (x *Index) Search(ctx context.Context, r Request) (*Answer, error) {
	q, err := query.Parse(r.Query)
	if err != nil {
		return nil, err
	}
	r.Limit = clamp(r.Limit, defaultMeetings, maxMeetings)
	most := maxMoments
	if r.Within != 0 {
		q, most = q.Within(r.Within), maxWithin
	}
	r.Moments = clamp(r.Moments, defaultMoments, most)
	if r.Location == nil {
		r.Location = time.UTC
	}
	q.Sort = cmp.Or(r.Sort, q.Sort)
	after, err := readCursor(r.After, q.String())
	if err != nil {
		return nil, err
	}
	var answer *Answer
	err = x.ask(ctx, r.Viewer, func(s *snapshot) error {
		s.notes, s.samePerson, s.whole, s.within = r.Notes, r.SamePerson, r.Whole, r.Within
		if answer, err = s.answer(r, q, after); err != nil {
			return err
		}
		if answer.Progress = x.Progress(); !r.Viewer.All {
			answer.Progress = answer.Progress.hideCounts(s.visibleCount)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// ask calls fn with a snapshot for a viewer. Damage that is met, also as a panic, is
// returned as [segment.ErrDamaged], and the index is built anew.
func (x *Index) ask(ctx context.Context, viewer archive.Viewer, fn func(*snapshot) error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	err := x.recoverDamage(func() error {
		s, err := x.openSnapshot(ctx, viewer)
		if err != nil {
			return err
		}
		defer s.close()
		return fn(s)
	})
	if errors.Is(err, segment.ErrDamaged) {
		x.requestRebuild(err)
		return segment.ErrDamaged
	}
	return err
}

// recoverDamage calls fn, which reads mapped files, and makes its panic
// [segment.ErrDamaged].
func (x *Index) recoverDamage(fn func() error) error {
	err := guard.Run(x.log, "search", fn)
	if errors.Is(err, guard.ErrPanic) && !errors.Is(err, segment.ErrDamaged) {
		return fmt.Errorf("%w: %w", segment.ErrDamaged, err)
	}
	return err
}

// clamp returns n, at most most, or def where n is not positive.
func clamp(n, def, most int) int {
	if n <= 0 {
		return def
	}
	return min(n, most)
}

// answer matches, ranks and quotes: see the package's comment.
func (s *snapshot) answer(r Request, q *query.Query, after *cursor) (*Answer, error) {
	m, err := s.match(q, clock{s.x.now(), r.Location}, after)
	if err != nil {
		return nil, err
	}
	a := &Answer{Total: m.set.size(), Exact: m.exact, Relaxed: m.relaxed}
	if after == nil {
		if a.DidYouMean, err = s.correct(q, m); err != nil {
			return nil, err
		}
	}
	page, next, err := s.page(m, q, r.Limit, after)
	if err != nil {
		return nil, err
	}
	a.Next = next
	if a.Meetings, err = s.quote(page, m, r.Moments, clock{s.x.now(), r.Location}); err != nil {
		return nil, err
	}
	if r.Facets {
		if a.Facets, err = s.countFacets(m, q, r.Location); err != nil {
			return nil, err
		}
	}
	if r.Trend {
		if a.Trend, err = s.trendWithoutDates(m, q, r); err != nil {
			return nil, err
		}
	}
	if r.Histogram {
		a.Histogram = s.histogram(m.set, r.Location)
	}
	return a, nil
}
