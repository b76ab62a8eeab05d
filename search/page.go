package search

import (
	"math"
	"slices"

	"minutebook/search/query"
)

// page returns the meetings of the page after a cursor, with their moments ranked,
// and the cursor of the next page.
func (s *snapshot) page(m *matches, q *query.Query, limit int, after *cursor) ([]rankedMeeting, string, error) {
	var list []rankedMeeting
	var err error
	seen := map[int64]bool{}
	if after != nil {
		seen = unpackIDs(after.Seen)
	}
	byDate := q.Sort == query.SortDate || len(m.terms) == 0 && q.Sort == "" || len(seen) >= s.x.tuning.shown
	if byDate {
		list = s.topMeetings(m.set, nil, limit+1, skipPassed(after, seen))
	} else if list, err = s.rankByScore(m, limit, func(r rankedMeeting) bool { return seen[r.id] }); err != nil {
		return nil, "", err
	}
	more := len(list) > limit
	list = list[:min(len(list), limit)]
	if first := slices.IndexFunc(list, func(r rankedMeeting) bool { return !r.momentsRanked }); first >= 0 {
		if err := s.rankMoments(list[first:], m.terms, m.scope, s.x.tuning); err != nil {
			return nil, "", err
		}
	}
	if !more {
		return list, "", nil
	}
	last := list[len(list)-1]
	next := cursor{Query: queryHash(q.String()), Start: last.start, ID: last.id, Least: m.least}
	if !byDate {
		for _, r := range list {
			seen[r.id] = true
		}
		next.Start, next.ID = math.MaxInt64, math.MaxInt64 // pages by date, if any follow, begin anew
	}
	next.Seen = packIDs(seen)
	return list, next.String(), nil
}

// rankByScore ranks the best meetings by their moments too; those beyond that
// window follow by the meetings' own scores. It returns one more than a page where
// there are more, and leaves out the meetings that skip accepts.
func (s *snapshot) rankByScore(m *matches, limit int, skip func(rankedMeeting) bool) ([]rankedMeeting, error) {
	t := s.x.tuning
	scores, err := s.scoreMeetings(m.set, m.terms, m.scope.textFields(), t)
	if err != nil {
		return nil, err
	}
	window := s.topMeetings(m.set, scores, t.window, nil)
	inWindow := map[int64]bool{}
	for _, r := range window {
		inWindow[r.id] = true
	}
	var list []rankedMeeting
	if slices.ContainsFunc(window, func(r rankedMeeting) bool { return !skip(r) }) {
		if err := s.rankMoments(window, m.terms, m.scope, t); err != nil {
			return nil, err
		}
		addMomentScores(window, t)
		list = slices.DeleteFunc(window, skip)
	}
	if len(list) > limit {
		return list[:limit+1], nil
	}
	rest := s.topMeetings(m.set, scores, limit+1-len(list), func(r rankedMeeting) bool { return inWindow[r.id] || skip(r) })
	return append(list, rest...), nil
}
