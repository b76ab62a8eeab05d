package search

import (
	"maps"
	"slices"
)

// owners are the teams or the persons that occurrences are counted for. A team has all its
// spellings, a person all spellings of the names that are known to be that person's.
type owners struct {
	*snapshot
	isPeople bool
	numbers  []uint32          // of the owner plus 1, by the number of a name; 0: not known yet
	firsts   map[string]uint32 // of a person, by the name under which the names are merged
	times    []int             // by the number of a name, in all trends
}

func (s *snapshot) newOwners(by string) *owners {
	n := s.x.columns.valueCount()
	return &owners{s, by == TrendPerson, make([]uint32, n), map[string]uint32{}, make([]int, n)}
}

// number returns the number of the owner that has the name of a number.
func (o *owners) number(name uint32) uint32 {
	if known := o.numbers[name]; known > 0 {
		return known - 1
	}
	number := o.x.columns.firstSpelling(name)
	if o.isPeople && o.samePerson != nil {
		if names := o.samePerson(o.x.columns.valueOf(name)); len(names) > 1 {
			if first, ok := o.firsts[names[0]]; ok {
				number = first
			}
			o.firsts[names[0]] = number
		}
	}
	o.numbers[name] = number + 1
	return number
}

// addUp adds the counts of meetings up by owner.
func (o *owners) addUp(counts [][]int) []int {
	by := make([]int, len(o.numbers))
	var present []uint32 // the owners of one meeting
	for i, segment := range counts {
		cols := o.segments[i].columns
		for doc, n := range segment {
			if n == 0 {
				continue
			}
			names := cols.single[singleTeam][doc : doc+1]
			if o.isPeople {
				names = cols.multi[multiPeople].list(uint32(doc))
			}
			present = present[:0]
			for _, name := range names {
				o.times[name] += n
				if p := o.number(name); !slices.Contains(present, p) {
					present = append(present, p)
					by[p] += n
				}
			}
		}
	}
	return by
}

// setPoints gives all trends the same points: the owners with the highest counts of any, each
// under the most frequent of its names.
func (o *owners) setPoints(trends []Trend, counts [][]int, limit int) {
	named := map[uint32]FacetValue{} // by owner: the name, and how often it counts
	for n, times := range o.times {
		if times == 0 {
			continue
		}
		v, number := FacetValue{o.x.columns.valueOf(uint32(n)), times}, o.number(uint32(n))
		if best, ok := named[number]; v.Value != "" && (!ok || compareValues(v, best) < 0) {
			named[number] = v
		}
	}
	for number, v := range named {
		v.Count = 0
		for _, by := range counts {
			v.Count = max(v.Count, by[number])
		}
		named[number] = v
	}
	ranked := slices.SortedFunc(maps.Keys(named), func(a, b uint32) int { return compareValues(named[a], named[b]) })
	for i, number := range ranked {
		for t, by := range counts {
			if i < limit {
				trends[t].Points = append(trends[t].Points, TrendPoint{named[number].Value, by[number]})
			} else if by[number] > 0 {
				trends[t].More = true
			}
		}
	}
}
