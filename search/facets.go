package search

import (
	"sort"
	"time"
)

// facetValues is how many values of a field are listed at most.
const facetValues = 12

// countFacets counts the values of the fields among the meetings found. Of CRM
// matches it counts those that the viewer sees.
func (s *snapshot) countFacets(set meetingSet, loc *time.Location) ([]Facet, error) {
	crm, err := s.withCRM()
	if err != nil {
		return nil, err
	}
	var single [singleFields][]int
	var many [multiFields][]int
	names := s.x.columns.valueCount()
	for f := range single {
		single[f] = make([]int, names)
	}
	for f := range many {
		many[f] = make([]int, names)
	}
	for i, docs := range set {
		cols := s.segments[i].columns
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			for f := range single {
				single[f][cols.single[f][doc]]++
			}
			for f := range many {
				for _, n := range cols.multi[f][doc] {
					many[f][n]++
				}
			}
		}
	}
	for n := range many[multiParts] {
		if s.x.columns.valueOf(uint32(n)) == "crm" {
			many[multiParts][n] = crm.and(set).size()
		}
	}
	return []Facet{
		{"person", s.topValues(many[multiPeople])},
		{"team", s.topValues(single[singleTeam])},
		{"type", s.topValues(single[singleType])},
		{"domain", s.topValues(many[multiDomains])},
		{"language", s.topValues(single[singleLanguage])},
		{"month", topMonths(s.histogram(set, loc))},
		{"has", s.topValues(many[multiParts])},
	}, nil
}

// topValues lists the most frequent values, most first.
func (s *snapshot) topValues(counts []int) []FacetValue {
	var out []FacetValue
	for n, count := range counts {
		if count == 0 {
			continue
		}
		if name := s.x.columns.valueOf(uint32(n)); name != "" {
			out = append(out, FacetValue{name, count})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Count != out[j].Count {
			return out[i].Count > out[j].Count
		}
		return out[i].Value < out[j].Value
	})
	return out[:min(len(out), facetValues)]
}

// topMonths lists the months that have meetings, newest first.
func topMonths(bars []Bar) []FacetValue {
	var out []FacetValue
	for i := len(bars) - 1; i >= 0; i-- {
		if bars[i].Count > 0 && len(out) < facetValues {
			out = append(out, FacetValue{bars[i].From.Format("2006-01"), bars[i].Count})
		}
	}
	return out
}

// maxBars bounds a histogram; one over a longer time begins later.
const maxBars = 240

// histogram counts the meetings found by month, from the first to the last,
// empty months included.
func (s *snapshot) histogram(set meetingSet, loc *time.Location) []Bar {
	counts := map[int]int{}
	first, last := 1<<30, -1<<30
	var months monthCache
	for i, docs := range set {
		cols := s.segments[i].columns
		for it := docs.Iterator(); it.HasNext(); {
			m := months.numberOf(cols.start[it.Next()], loc)
			counts[m]++
			first, last = min(first, m), max(last, m)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	first = max(first, last-maxBars+1)
	bars := make([]Bar, 0, last-first+1)
	for m := first; m <= last; m++ {
		bars = append(bars, Bar{monthStart(m, loc), counts[m]})
	}
	return bars
}

func monthStart(m int, loc *time.Location) time.Time {
	return time.Date(m/12, time.Month(m%12+1), 1, 0, 0, 0, 0, loc)
}

// monthCache remembers the bounds of the months met, since reading a calendar
// is slow.
type monthCache struct {
	bounds []monthBounds
}

type monthBounds struct {
	from, to int64
	month    int
}

// numberOf numbers the month of an instant in a place: year*12 + month-1.
func (c *monthCache) numberOf(ms int64, loc *time.Location) int {
	i := sort.Search(len(c.bounds), func(i int) bool { return c.bounds[i].to > ms })
	if i < len(c.bounds) && c.bounds[i].from <= ms {
		return c.bounds[i].month
	}
	t := time.UnixMilli(ms).In(loc)
	m := t.Year()*12 + int(t.Month()) - 1
	b := monthBounds{monthStart(m, loc).UnixMilli(), monthStart(m+1, loc).UnixMilli(), m}
	c.bounds = append(c.bounds, b)
	sort.Slice(c.bounds, func(i, j int) bool { return c.bounds[i].from < c.bounds[j].from })
	return m
}
