package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/search/query"
	"minutebook/search/text"
)

// facetValues is how many values of a field are listed at most.
const facetValues = 12

// facetFields are the fields that are counted, in the order of an answer.
func facetFields() []string {
	return []string{"person", "team", "type", "domain", "language", "month", "has"}
}

// narrowingFields are the fields of the query language that narrow by a facet.
func narrowingFields(facet string) []string {
	if facet == "month" {
		return []string{"on", "after", "before", "last"}
	}
	return []string{facet}
}

// FacetsRequest asks for values of one field among the meetings that a query finds.
type FacetsRequest struct {
	Request
	Field  string // of [Facet]
	Begins string // only values that begin so, or one of whose words does

	// Name returns the name of a month or a language for people, which may begin so too; nil: none.
	Name func(value string) string
}

// Facet returns the values of one field with their counts, at most Limit: none for 0. Of the
// request Within and Whole do not count. It fails as Search does, and for a Field that is
// no facet's.
func (x *Index) Facet(ctx context.Context, r FacetsRequest) (out Facet, err error) {
	q, err := query.Parse(r.Query)
	if err != nil {
		return out, err
	}
	if r.Location == nil {
		r.Location = time.UTC
	}
	err = x.ask(ctx, r.Viewer, func(s *snapshot) error {
		s.notes, s.samePerson = r.Notes, r.SamePerson
		m, err := s.match(q, clock{s.x.now(), r.Location}, nil)
		if err != nil {
			return err
		}
		set, err := s.withoutField(m, q, r.Field, r.Location)
		if err != nil {
			return err
		}
		out, err = s.countFacet(r.Field, set, r.Location, facetList{prefix: strings.Join(text.PhraseTerms(r.Begins), " "), most: r.Limit, name: r.Name})
		return err
	})
	return out, err
}

// Facets returns the counts of Search with Facets, without any meeting. Of the request Within
// and Whole do not count. It fails as Search does.
func (x *Index) Facets(ctx context.Context, r Request) (out []Facet, err error) {
	q, err := query.Parse(r.Query)
	if err != nil {
		return nil, err
	}
	if r.Location == nil {
		r.Location = time.UTC
	}
	err = x.ask(ctx, r.Viewer, func(s *snapshot) error {
		s.notes, s.samePerson = r.Notes, r.SamePerson
		m, err := s.match(q, clock{s.x.now(), r.Location}, nil)
		if err == nil {
			out, err = s.countFacets(m, q, r.Location)
		}
		return err
	})
	return out, err
}

// Values returns, for each of some facets, the values that the most meetings have of those
// that a viewer sees, at most so many of each. Each spelling of a value stands by itself.
func (x *Index) Values(ctx context.Context, viewer archive.Viewer, most int, fields ...string) (out []Facet, err error) {
	err = x.ask(ctx, viewer, func(s *snapshot) error {
		set := s.visible()
		for _, field := range fields {
			f, err := s.countFacet(field, set, time.UTC, facetList{most: most, asSpelled: true})
			if err != nil {
				return err
			}
			out = append(out, f)
		}
		return nil
	})
	return out, err
}

// facetList bounds the values of a facet.
type facetList struct {
	prefix    string // folded; only values that begin so, or one of whose words does
	most      int
	asSpelled bool                // each spelling by itself
	name      func(string) string // FacetsRequest.Name
}

// accepts reports whether a value or its name begins with the prefix, or one of their words does.
func (l facetList) accepts(value string) bool {
	names := []string{value}
	if l.name != nil {
		names = append(names, l.name(value))
	}
	return slices.ContainsFunc(names, func(name string) bool {
		words := text.PhraseTerms(name)
		for i := range words {
			if strings.HasPrefix(strings.Join(words[i:], " "), l.prefix) {
				return true
			}
		}
		return false
	})
}

// newFacet returns the facet with the first of its values, at most so many.
func newFacet(field string, values []FacetValue, most int) Facet {
	return Facet{Field: field, Values: values[:min(len(values), most)], More: len(values) > most}
}

// countFacets counts the values of the fields among the meetings found. A field that the
// query asks for is counted as if the query did not, since its other values would be
// added to those that it asks for.
func (s *snapshot) countFacets(m *matches, q *query.Query, loc *time.Location) ([]Facet, error) {
	var out []Facet
	for _, field := range facetFields() {
		set, err := s.withoutField(m, q, field, loc)
		if err != nil {
			return nil, err
		}
		f, err := s.countFacet(field, set, loc, facetList{most: facetValues})
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// withoutField returns the meetings that a query finds without its parts that ask for a
// facet's values.
func (s *snapshot) withoutField(m *matches, q *query.Query, facet string, loc *time.Location) (meetingSet, error) {
	rest := q.Without(narrowingFields(facet)...)
	if len(rest.Parts()) == len(q.Parts()) {
		return m.set, nil
	}
	at := clock{s.x.now(), loc}
	if m.set.size() == 0 { // the rest alone may be loosened, or not
		m, err := s.match(rest, at, nil)
		if err != nil {
			return nil, err
		}
		return m.set, nil
	}
	wide, err := evaluation{s, m.byNode, at}.evaluate(rest.Root, m.relaxed != "")
	if err != nil || m.relaxed == "" {
		return wide, err
	}
	return wide.and(s.withMost(m.terms, m.least)), nil
}

// countFacet counts the values of one field. Of CRM matches it counts those that the
// viewer sees.
func (s *snapshot) countFacet(field string, set meetingSet, loc *time.Location, list facetList) (Facet, error) {
	if list.prefix != "" && (field == "month" || field == "language") {
		all, err := s.countFacet(field, set, loc, facetList{most: max(s.x.columns.valueCount(), maxBars)})
		return newFacet(field, slices.DeleteFunc(all.Values, func(v FacetValue) bool { return !list.accepts(v.Value) }), list.most), err
	}
	counts := make([]int, s.x.columns.valueCount())
	var err error
	switch field {
	case "month":
		return newFacet(field, topMonths(s.histogram(set, loc), list.most+1), list.most), nil
	case "person":
		s.addMany(counts, set, multiPeople)
	case "domain":
		s.addMany(counts, set, multiDomains)
	case "has":
		s.addMany(counts, set, multiParts)
		err = s.hideCRM(counts, set)
	case "team":
		s.addSingle(counts, set, singleTeam)
	case "type":
		s.addSingle(counts, set, singleType)
	case "language":
		s.addSingle(counts, set, singleLanguage)
	default:
		return Facet{}, fmt.Errorf("count %q: it is no facet", field)
	}
	if err != nil {
		return Facet{}, err
	}
	if !list.asSpelled && (field == "person" || field == "team" || field == "type") {
		s.x.columns.addSpellings(counts)
	}
	f := newFacet(field, s.beginningWith(counts, list.prefix, list.most+1), list.most)
	if !list.asSpelled && field == "person" {
		f.Values, err = s.countPeople(f.Values, keyPerson, set)
	}
	return f, err
}

// hideCRM leaves the meetings whose CRM matches the viewer does not see out of a count.
func (s *snapshot) hideCRM(counts []int, set meetingSet) error {
	crm, err := s.withCRM()
	if err != nil {
		return err
	}
	for n, count := range counts {
		if count > 0 && s.x.columns.valueOf(uint32(n)) == "crm" {
			counts[n] = crm.and(set).size()
		}
	}
	return nil
}

// addMany counts the meetings of a set by the values of a field with several.
func (s *snapshot) addMany(counts []int, set meetingSet, field int) {
	for i, docs := range set {
		values := &s.segments[i].columns.multi[field]
		eachDocument(docs, func(doc uint32) {
			for _, n := range values.list(doc) {
				counts[n]++
			}
		})
	}
}

// addSingle counts the meetings of a set by the value of a field with one.
func (s *snapshot) addSingle(counts []int, set meetingSet, field int) {
	for i, docs := range set {
		values := s.segments[i].columns.single[field]
		eachDocument(docs, func(doc uint32) { counts[values[doc]]++ })
	}
}

// countPeople puts the names of one person together under the first of them, and counts the
// meetings of a set that a filter with each name finds, by its kind of keys. Most names have
// their meetings' count already: those of several words, with one spelling, of people.
func (s *snapshot) countPeople(values []FacetValue, kind string, set meetingSet) ([]FacetValue, error) {
	seen := map[string]bool{}
	var out []FacetValue
	for _, v := range values {
		isCounted := kind == keyPerson && strings.Contains(text.Fold(v.Value), " ") && len(s.x.columns.spelled(v.Value)) < 2
		if s.samePerson != nil {
			if names := s.samePerson(v.Value); len(names) > 1 {
				if seen[names[0]] {
					continue
				}
				seen[names[0]], isCounted = true, false
			}
		}
		if !isCounted {
			with, err := s.withPerson(kind, v.Value)
			if err != nil {
				return nil, err
			}
			v.Count = with.and(set).size()
		}
		if v.Count > 0 { // else nothing is left of the name when it is folded, or nobody has it in this part
			out = append(out, v)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Count > out[j].Count })
	return out, nil
}

// frequentValues lists the values with the highest counts, most first.
func (s *snapshot) frequentValues(counts []int, most int) []FacetValue {
	var numbers []uint32
	for n, count := range counts {
		if count > 0 {
			numbers = append(numbers, uint32(n)) //nolint:gosec // an index
		}
	}
	return s.rankValues(numbers, counts, most)
}

// compareValues orders values, the most frequent first.
func compareValues(a, b FacetValue) int {
	return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value))
}

// rankValues lists those of some values that have the highest counts, most first.
func (s *snapshot) rankValues(numbers []uint32, counts []int, most int) []FacetValue {
	values := s.x.columns.allValues()
	var out []FacetValue
	for _, n := range numbers {
		if int(n) < len(counts) && counts[n] > 0 && values[n] != "" {
			out = append(out, FacetValue{values[n], counts[n]})
		}
	}
	slices.SortFunc(out, compareValues)
	return out[:min(len(out), most)]
}
