package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/search"
	"minutebook/search/query"
	"minutebook/search/text"
)

// facetView is a facet whose values lead to the narrowed or widened query.
type facetView struct {
	Name   string
	Values []facetValue
	More   string // the address of all values; "" when these are all
}

type facetValue struct {
	Label   string
	Count   int
	Active  bool
	Address string
}

// facetNames are the labels of the fields on the page.
var facetNames = map[string]string{
	"person": "People", "team": "Teams", "type": "Types", "domain": "Companies", "language": "Languages", "month": "Months", "has": "With",
}

// facetsShown is how many values of a facet stand beside the results.
const facetsShown = 8

// newFacetViews makes links of an answer's facets. The query itself is the state:
// choosing a value adds it to those of its kind, of which one must hold, and choosing it
// again takes it out.
func newFacetViews(facets []search.Facet, q *query.Query, text string) []facetView {
	var views []facetView
	for _, f := range facets {
		v := facetView{Name: facetNames[f.Field], Values: newFacetValues(f, q)}
		if len(v.Values) > facetsShown {
			v.More = "/facet?" + url.Values{"q": {text}, "field": {f.Field}}.Encode()
			active := 0 // chosen ones stay
			for i, value := range v.Values {
				if value.Active {
					active = i + 1
				}
			}
			v.Values = v.Values[:max(facetsShown, active)]
		}
		if len(v.Values) > 0 {
			views = append(views, v)
		}
	}
	return views
}

func newFacetValues(f search.Facet, q *query.Query) []facetValue {
	field, rest := f.Field, q
	if field == "month" {
		field, rest = "on", q.Without("after", "before", "last")
	}
	chosen := q.Values(field)
	var values []facetValue
	for _, value := range f.Values {
		isIt := func(c string) bool { return text.Fold(c) == text.Fold(value.Value) }
		holds := func(string) bool { return false } // a longer time with this one
		if f.Field == "month" {
			isIt = func(c string) bool { same, _ := compareMonth(c, value.Value); return same }
			holds = func(c string) bool { _, holds := compareMonth(c, value.Value); return holds }
		}
		active, to := slices.ContainsFunc(chosen, isIt), rest
		if active {
			for i, part := range slices.Backward(rest.Parts()) {
				if name, _ := query.ValuesOf(part); name == field {
					to = to.WithoutValues(i, isIt)
				}
			}
		} else {
			to = rest.With(field, append(slices.DeleteFunc(slices.Clone(chosen), holds), value.Value)...)
		}
		values = append(values, facetValue{Label: facetLabel(f.Field, value.Value), Count: value.Count, Active: active,
			Address: resultsAddress(to.String())})
	}
	return values
}

// compareMonth reports whether a value of on:, however it is written, is a month of the facet, and
// whether it is a longer time that holds the month.
func compareMonth(on, month string) (same, holds bool) {
	from, next, err := query.DateSpan(on, time.Time{}, time.UTC) // today is no month, whenever it is
	first, end, err2 := query.DateSpan(month, time.Time{}, time.UTC)
	if err != nil || err2 != nil {
		return false, false
	}
	same = from.Equal(first) && next.Equal(end)
	return same, !same && !from.After(first) && !next.Before(end)
}

func facetLabel(field, value string) string {
	if field == "language" {
		return languageName(value)
	}
	if field == "month" {
		if t, err := time.Parse("2006-01", value); err == nil {
			return t.Format("January 2006")
		}
	}
	return value
}

// facetPage lists all values of a facet.
type facetPage struct {
	frame
	Name, Field, Find string
	Values            []facetValue
	More              bool // there are more than the page lists
}

// mostFacetValues is how many values the page of a facet lists.
const mostFacetValues = 300

// facet answers /facet?q=&field=&find=.
func (s *server) facet(w http.ResponseWriter, r *http.Request) error {
	form := r.URL.Query()
	text := form.Get("q")
	found, err := s.findFacet(r, mostFacetValues)
	if err != nil {
		return err
	}
	q, err := query.Parse(text)
	if err != nil {
		return err
	}
	p := facetPage{frame: s.newFrame(r, "facet", facetNames[found.Field]), Name: facetNames[found.Field], Field: found.Field, Find: form.Get("find")}
	p.Query, p.More = text, found.More
	p.Values = newFacetValues(found, q)
	return s.render(w, http.StatusOK, "facet", p)
}

// findFacet reads the values of the facet that a request names: ?q, field, find.
func (s *server) findFacet(r *http.Request, most int) (search.Facet, error) {
	form := r.URL.Query()
	field := form.Get("field")
	if facetNames[field] == "" {
		return search.Facet{}, &failure{http.StatusBadRequest, "field is one of person, team, type, domain, language, month and has"}
	}
	request := search.FacetsRequest{Request: s.searchRequest(r.Context(), form.Get("q")), Field: field, Begins: form.Get("find")}
	request.Limit, request.Name = most, func(value string) string { return facetLabel(field, value) }
	return s.Index.Facet(r.Context(), request)
}

// apiFacet answers with the values of one facet: ?q, field, find, limit.
func (s *server) apiFacet(w http.ResponseWriter, r *http.Request) error {
	limit, err := parseNumber(r.URL.Query(), "limit", 50, 1, 500)
	if err != nil {
		return err
	}
	found, err := s.findFacet(r, limit)
	if err != nil {
		return err
	}
	return answerJSON(w, r, newFacetJSON(found))
}

func newFacetJSON(f search.Facet) facetJSON {
	out := facetJSON{Field: f.Field, Values: []facetValueJSON{}, More: f.More}
	for _, v := range f.Values {
		out.Values = append(out.Values, facetValueJSON(v))
	}
	return out
}

// listFilter holds the filters of the list of meetings and their options.
type listFilter struct{ Type, Team, Person picker }

// picker is one filter as a field of the form.
type picker struct {
	Name, Label, Value string
	Options            []string
}

// Any reports whether the list is narrowed at all.
func (f listFilter) Any() bool {
	return f.Type.Value != "" || f.Team.Value != "" || f.Person.Value != ""
}

// mostChoices is how many values of a filter a person still reads through.
const mostChoices = 300

// choices are the values that the list of meetings can be narrowed to, each kind by name.
type choices struct {
	Types  []string `json:"types"`
	Teams  []string `json:"teams"`
	People []string `json:"people"`
	More   bool     `json:"more,omitempty"` // values of fewer meetings are left out
}

// choices returns those of the most meetings that the visitor sees. They come from the
// index, which has them in memory.
func (s *server) choices(ctx context.Context) (choices, error) {
	c := choices{Types: []string{}, Teams: []string{}, People: []string{}}
	found, err := s.Index.Values(ctx, viewerOf(ctx), mostChoices, "type", "team", "person")
	if err != nil {
		return c, err
	}
	for i, names := range []*[]string{&c.Types, &c.Teams, &c.People} {
		c.More = c.More || found[i].More
		for _, v := range found[i].Values {
			*names = append(*names, v.Value)
		}
		slices.SortFunc(*names, func(a, b string) int {
			return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
		})
	}
	return c, nil
}

// listFilter returns the filters with the options of the archive. The chosen value
// is always among them, so that sending the form again keeps it.
func (s *server) listFilter(r *http.Request, q archive.ListQuery) (listFilter, error) {
	c, err := s.choices(r.Context())
	pick := func(name, label, value string, options []string) picker {
		if value != "" && !slices.Contains(options, value) {
			options = append([]string{value}, options...)
		}
		return picker{name, label, value, options}
	}
	return listFilter{pick("type", "Type", q.Type, c.Types), pick("team", "Team", q.Team, c.Teams),
		pick("person", "Person", q.Person, c.People)}, err
}
