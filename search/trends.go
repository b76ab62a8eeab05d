package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/archive"
	"minutebook/search/query"
	"minutebook/search/segment"
)

// TrendsRequest asks how often queries' words were said.
type TrendsRequest struct {
	Queries    []string
	By         string         // TrendMonth, TrendTeam or TrendPerson
	Limit      int            // of teams or persons; 0 means 12
	Viewer     archive.Viewer // only meetings that this person sees are counted
	Location   *time.Location // of months; nil means UTC
	Notes      NotesFunc
	SamePerson SamePersonFunc
}

// Units by which occurrences are counted.
const (
	TrendMonth  = "month"
	TrendTeam   = "team"
	TrendPerson = "person" // of the meetings that a person took part in
)

// Trend is how often the words of a query were said in the meetings that it finds.
type Trend struct {
	Query    string
	Meetings bool         // the query has no words: meetings are counted
	Total    int          // all occurrences, also those of no point
	Exact    bool         // false: there are at least so many
	Points   []TrendPoint // months in their order, without gaps; others the same for all queries, most first
	More     bool         // other teams or persons have a count too
}

// TrendPoint is the count of a month (2026-03), team or person.
type TrendPoint struct {
	Key   string
	Count int
}

// maxTrendRead is how many entries of transcripts are read to count the phrases of one
// query.
const maxTrendRead = 2500

// Trends counts each query's occurrences, in the order of the queries. It fails as Search
// does.
func (x *Index) Trends(ctx context.Context, r TrendsRequest) ([]Trend, error) {
	if r.Location == nil {
		r.Location = time.UTC
	}
	var queries []*query.Query
	for _, text := range r.Queries {
		q, err := query.Parse(text)
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
	var out []Trend
	err := x.ask(ctx, r.Viewer, func(s *snapshot) error {
		s.notes, s.samePerson = r.Notes, r.SamePerson
		owners := s.newOwners(r.By)
		var counts [][]int // of each trend, by owner, where it is not by month
		for i, q := range queries {
			trend, byOwner, err := s.trend(q, r, owners)
			if err != nil {
				return err
			}
			trend.Query = r.Queries[i]
			out, counts = append(out, trend), append(counts, byOwner)
		}
		if r.By != TrendMonth {
			owners.setPoints(out, counts, cmp.Or(r.Limit, facetValues))
		}
		return nil
	})
	return out, err
}

// trend counts the occurrences of one query. Where they are not counted by month, it
// returns the count of each owner in place of points.
func (s *snapshot) trend(q *query.Query, r TrendsRequest, o *owners) (Trend, []int, error) {
	m, err := s.match(q, clock{s.x.now(), r.Location}, nil)
	if err != nil {
		return Trend{}, nil, err
	}
	return s.countTrend(m, r, o)
}

// trendWithoutDates counts by month how often the words of a query were said that was
// matched already, as if it had no dates.
func (s *snapshot) trendWithoutDates(m *matches, q *query.Query, r Request) (*Trend, error) {
	set, err := s.withoutField(m, q, "month", r.Location)
	if err != nil {
		return nil, err
	}
	whole := *m
	whole.set = set.clone()
	trend, _, err := s.countTrend(&whole, TrendsRequest{By: TrendMonth, Location: r.Location}, nil)
	trend.Query = q.Without(narrowingFields("month")...).String()
	return &trend, err
}

// countTrend is trend for a query that was matched.
func (s *snapshot) countTrend(m *matches, r TrendsRequest, o *owners) (Trend, []int, error) {
	out := Trend{Exact: m.exact}
	counts := make([][]int, len(s.segments))
	for i, seg := range s.segments {
		counts[i] = make([]int, seg.seg.FullSize())
	}
	budget := &readBudget{maxTrendRead}
	words, seen := 0, countedTerms{}
	for _, t := range m.terms {
		if t.stop {
			continue
		}
		words++
		exact, err := s.countOccurrences(counts, t, m.set, seen, budget)
		if err != nil {
			return out, nil, err
		}
		out.Exact = out.Exact && exact
	}
	if out.Meetings = words == 0; out.Meetings {
		for i, docs := range m.set {
			eachDocument(docs, func(doc uint32) { counts[i][doc] = 1 })
		}
	}
	for _, segment := range counts {
		for _, n := range segment {
			out.Total += n
		}
	}
	if r.By == TrendMonth {
		out.Points = s.monthPoints(counts, m.set, r.Location)
		return out, nil, nil
	}
	return out, o.addUp(counts), nil
}

// countedTerms are the terms and phrases that a trend has counted, where they are looked for:
// an occurrence counts once, also where several words of the query mean it.
type countedTerms map[countedTerm]bool

type countedTerm struct{ speakers, field, term string }

// add adds some terms and returns those that were not there yet.
func (c countedTerms) add(in scope, field string, terms ...string) []string {
	speakers := fmt.Sprintf("%q", in.speakers)
	return slices.DeleteFunc(terms, func(term string) bool {
		key := countedTerm{speakers, field, term}
		isThere := c[key]
		c[key] = true
		return isThere
	})
}

// countOccurrences adds the occurrences of a term in each meeting of a set that were not seen
// before: in the transcript or, where the query looks only in other parts, there. It returns
// false when a meeting may have more.
func (s *snapshot) countOccurrences(counts [][]int, t *termMatch, set meetingSet, seen countedTerms, budget *readBudget) (bool, error) {
	found := t.meetings.clone().and(set)
	fields := []string{segment.FieldText}
	if len(t.scope.fields) > 0 && !slices.Contains(t.scope.fields, segment.FieldText) {
		fields = slices.DeleteFunc(slices.Clone(t.scope.fields), func(f string) bool { return f == segment.FieldCRM })
	}
	isRead := s.isReadWhereSaid(t.queryTerm)
	passageTerm := t.word.term + " " + strings.Join(t.phrase, " ") // the space tells it from a word
	switch {
	case (isRead || len(t.phrase) > 0) && len(seen.add(t.scope, strings.Join(fields, " "), passageTerm)) == 0:
		return true, nil
	case isRead:
		return s.countRead(counts, passage{[]string{t.word.term}, t.scope.speakers}, found, budget)
	case len(t.phrase) > 0 && len(t.scope.speakers) == 0 && slices.Contains(fields, segment.FieldText):
		return s.countPhrase(counts, t, found, budget)
	case len(t.phrase) > 0:
		for i, docs := range found {
			eachDocument(docs, func(doc uint32) { counts[i][doc]++ })
		}
		return found.size() == 0, nil
	case len(t.scope.speakers) > 0:
		return true, s.countSaid(counts, t, found, seen)
	}
	terms := map[string][]string{}
	for _, field := range fields {
		terms[field] = seen.add(t.scope, field, countedVariants(t, field)...)
	}
	return true, s.parallel(len(found), func(i int) error {
		if found[i].IsEmpty() {
			return nil
		}
		for _, field := range fields {
			for _, term := range terms[field] {
				if err := s.addTimes(counts[i], s.segments[i].terms, field, term, found[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// countPhrase adds how often meetings have a phrase in their transcripts. It returns false when
// a meeting may have more.
func (s *snapshot) countPhrase(counts [][]int, t *termMatch, found meetingSet, budget *readBudget) (bool, error) {
	said, err := s.withPairs(segment.FieldText, t.phrase)
	if err != nil {
		return false, err
	}
	return s.countRead(counts, passage{words: t.phrase}, found.and(said), budget)
}

// countedVariants lists the terms of a word whose occurrences add up to its own: where a
// language indexes stems beside the words, the word itself is counted with its stem.
func countedVariants(t *termMatch, field string) []string {
	var stems []string
	for _, v := range t.variants {
		if stem, ok := strings.CutPrefix(v.term, "\x01"); ok {
			stems = append(stems, stem)
		}
	}
	return slices.DeleteFunc(variantsIn(t.variants, field), func(term string) bool {
		return term == t.word.term && len(stems) > 0 && !slices.Contains(stems, term)
	})
}

// addTimes adds how often each of the documents has a term.
func (s *snapshot) addTimes(counts []int, terms *segment.TermReader, field, term string, docs *roaring.Bitmap) error {
	postings, err := terms.Postings(field, term)
	if err != nil || postings.Docs == nil {
		return err
	}
	add := func(doc, times, _ uint32) {
		if docs.Contains(doc) {
			counts[doc] += int(times)
		}
	}
	if docs.GetCardinality()*seekRatio < postings.Docs.GetCardinality() {
		return postings.EachIn(docs, add)
	}
	return postings.Each(add)
}

// countSaid adds how often a word is said in the moments in which the speakers of its
// scope speak.
func (s *snapshot) countSaid(counts [][]int, t *termMatch, found meetingSet, seen countedTerms) error {
	terms := seen.add(t.scope, segment.FieldText, countedVariants(t, segment.FieldText)...)
	for _, m := range s.spoken {
		by, err := m.spokenBy(t.scope.speakers)
		if err != nil {
			return err
		}
		times := map[uint32]int{}
		for _, term := range terms {
			postings, err := m.terms.Postings(segment.FieldText, term)
			if err != nil {
				return err
			}
			if err := postings.EachIn(by, func(doc, n, _ uint32) { times[doc] += int(n) }); err != nil {
				return err
			}
		}
		for doc, n := range times {
			name, err := m.seg.DocID(uint64(doc))
			if err != nil {
				return fmt.Errorf("read search index: %w", err)
			}
			if i, doc, ok := s.place(meetingOfMoment(name)); ok && found[i].Contains(doc) {
				counts[i][doc] += n
			}
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// monthPoints adds the counts up by month, from the first to the last meeting found.
func (s *snapshot) monthPoints(counts [][]int, set meetingSet, loc *time.Location) []TrendPoint {
	var months monthCache
	by := map[int]int{}
	for i, docs := range set {
		cols := s.segments[i].columns
		eachDocument(docs, func(doc uint32) { months.add(by, cols.start[doc], counts[i][doc], loc) })
	}
	if len(by) == 0 {
		return nil
	}
	first, last := s.chartedMonths(by, loc)
	var out []TrendPoint
	for month := first; month <= last; month++ {
		out = append(out, TrendPoint{monthStart(month, loc).Format("2006-01"), by[month]})
	}
	return out
}
