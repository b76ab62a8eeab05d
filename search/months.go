package search

import (
	"maps"
	"slices"
	"sort"
	"time"

	"minutebook/internal/civil"
)

// topMonths lists the months that have meetings, newest first.
func topMonths(bars []Bar, most int) []FacetValue {
	var out []FacetValue
	for i := len(bars) - 1; i >= 0; i-- {
		if bars[i].Count > 0 && len(out) < most {
			out = append(out, FacetValue{bars[i].From.Format("2006-01"), bars[i].Count})
		}
	}
	return out
}

// maxBars bounds a chart by month; one over a longer time begins later, with a month that has
// meetings.
const maxBars = 240

// chartedMonths returns the first and the last month of a chart of counts by month. A month
// more than a year ahead is charted only where no other has meetings: one meeting that is
// dated 9999 would hide all the rest.
func (s *snapshot) chartedMonths(counts map[int]int, loc *time.Location) (first, last int) {
	months := slices.Sorted(maps.Keys(counts))
	now := s.x.now().In(loc)
	ahead, _ := slices.BinarySearch(months, (now.Year()+1)*12+int(now.Month()))
	if ahead > 0 {
		months = months[:ahead]
	}
	last = months[len(months)-1]
	begin, _ := slices.BinarySearch(months, last-maxBars+1)
	return months[begin], last
}

// histogram counts the meetings found that have a date by month, from the first to the last,
// empty months included.
func (s *snapshot) histogram(set meetingSet, loc *time.Location) []Bar {
	counts := map[int]int{}
	var months monthCache
	for i, docs := range set {
		cols := s.segments[i].columns
		for it := docs.Iterator(); it.HasNext(); {
			months.add(counts, cols.start[it.Next()], 1, loc)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	first, last := s.chartedMonths(counts, loc)
	bars := make([]Bar, 0, last-first+1)
	for m := first; m <= last; m++ {
		bars = append(bars, Bar{monthStart(m, loc), counts[m]})
	}
	return bars
}

func monthStart(m int, loc *time.Location) time.Time {
	return civil.Day(m/12, time.Month(m%12+1), 1, loc)
}

// lastMonth is the last one that a query and JSON can say, December 9999. It has the meetings of
// its last hours too that begin later in a zone in the east.
const lastMonth = 9999*12 + 11

// monthCache remembers the bounds of the months met, since reading a calendar
// is slow.
type monthCache struct {
	bounds []monthBounds
}

type monthBounds struct {
	from, to int64
	month    int
}

// add adds to the count of the month of a meeting's start, which is 0 where the meeting has no
// date.
func (c *monthCache) add(counts map[int]int, start int64, n int, loc *time.Location) {
	if start != 0 {
		counts[c.numberOf(start, loc)] += n
	}
}

// numberOf numbers the month of an instant in a place: year*12 + month-1.
func (c *monthCache) numberOf(ms int64, loc *time.Location) int {
	i := sort.Search(len(c.bounds), func(i int) bool { return c.bounds[i].to > ms })
	if i < len(c.bounds) && c.bounds[i].from <= ms {
		return c.bounds[i].month
	}
	t := time.UnixMilli(ms).In(loc)
	m := t.Year()*12 + int(t.Month()) - 1
	b := monthBounds{monthStart(m, loc).UnixMilli(), monthStart(m+1, loc).UnixMilli(), min(m, lastMonth)}
	c.bounds = append(c.bounds, b)
	sort.Slice(c.bounds, func(i, j int) bool { return c.bounds[i].from < c.bounds[j].from })
	return b.month
}
