package search

import (
	"slices"
	"strings"

	"minutebook/search/query"
	"minutebook/search/text"
)

// countMany counts the visible meetings by the values of a field with several.
func (s *snapshot) countMany(field int) []int {
	counts := make([]int, s.x.columns.valueCount())
	s.addMany(counts, s.visible(), field)
	s.x.columns.addSpellings(counts)
	return counts
}

// countNamed counts the visible meetings by the names of those of their people who have a kind
// of keys in any: not all speak, or record.
func (s *snapshot) countNamed(kind string) ([]int, error) {
	counts := s.countMany(multiPeople)
	if kind == keyPerson {
		return counts, nil
	}
	keys, err := s.keysWithPrefix(kind)
	named := make(map[string]bool, len(keys))
	for _, key := range keys {
		named[key] = true
	}
	for n, value := range s.x.columns.allValues()[:len(counts)] {
		if counts[n] > 0 && !named[kind+text.Fold(value)] {
			counts[n] = 0
		}
	}
	return counts, err
}

// countSingle counts the visible meetings by the value of a field with one.
func (s *snapshot) countSingle(field int) []int {
	counts := make([]int, s.x.columns.valueCount())
	s.addSingle(counts, s.visible(), field)
	s.x.columns.addSpellings(counts)
	return counts
}

// beginningWith lists the most frequent values that begin with a folded prefix, or do so
// from one of their words on.
func (s *snapshot) beginningWith(counts []int, prefix string, most int) []FacetValue {
	if prefix == "" {
		return s.frequentValues(counts, most)
	}
	return s.rankValues(s.x.columns.valuesWith(prefix), counts, most)
}

// suggestKinds finds meeting types and teams by how they begin.
func (s *snapshot) suggestKinds(t typed) ([]Suggestion, error) {
	tails := slices.DeleteFunc(t.tails(), func(tail tail) bool { return strings.HasSuffix(tail.terms, " ") || len([]rune(tail.terms)) < 2 })
	if len(tails) == 0 {
		return nil, nil
	}
	kinds := []struct {
		name   string
		field  int
		counts []int
	}{{SuggestType, singleType, nil}, {SuggestTeam, singleTeam, nil}}
	for _, tail := range tails {
		named := s.x.columns.valuesWith(tail.terms)
		var out []Suggestion
		for i := range kinds {
			if len(named) == 0 {
				break
			}
			kind := &kinds[i]
			if kind.counts == nil {
				kind.counts = s.countSingle(kind.field)
			}
			for _, v := range s.rankValues(named, kind.counts, maxValues) {
				out = append(out, Suggestion{Kind: kind.name, Text: v.Value, Count: v.Count, Query: t.filterQuery(tail.fields, kind.name, v.Value)})
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

// suggestValues finds values of the field that is being written.
func (s *snapshot) suggestValues(t typed) ([]Suggestion, error) {
	prefix := strings.Join(append(slices.Clone(t.words), t.last), " ")
	var values []FacetValue
	kind := SuggestField
	const most = 8
	switch t.field {
	case "person", "speaker", "recorded-by", "assignee":
		keys := map[string]string{"person": keyPerson, "speaker": keySpeaker, "recorded-by": keyRecorder, "assignee": keyAssignee}[t.field]
		counts, err := s.countNamed(keys)
		if err == nil {
			values, err = s.countPeople(s.beginningWith(counts, prefix, 4*most), keys, s.visible())
		}
		if err != nil {
			return nil, err
		}
		kind, values = SuggestPerson, values[:min(len(values), most)]
	case "domain":
		kind, values = SuggestCompany, s.beginningWith(s.countMany(multiDomains), prefix, most)
	case "type":
		kind, values = SuggestType, s.beginningWith(s.countSingle(singleType), prefix, most)
	case "team":
		kind, values = SuggestTeam, s.beginningWith(s.countSingle(singleTeam), prefix, most)
	case "language":
		values = s.beginningWith(s.countSingle(singleLanguage), prefix, most)
	default:
		for _, f := range query.Fields() {
			if f.Name != t.field {
				continue
			}
			for _, v := range f.Values {
				if strings.HasPrefix(v, strings.ToLower(t.raw)) {
					values = append(values, FacetValue{Value: v})
				}
			}
		}
	}
	var out []Suggestion
	for _, v := range values {
		out = append(out, Suggestion{Kind: kind, Text: v.Value, Count: v.Count,
			Query: t.head + (&query.Filter{Field: t.field, Value: v.Value}).String() + " "})
	}
	return out, nil
}
