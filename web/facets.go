package web

import (
	"strings"
	"time"

	"minutebook/search"
)

// facetView is a facet whose values lead to the narrowed or widened query.
type facetView struct {
	Name   string
	Values []facetValue
}

type facetValue struct {
	Label   string
	Count   int
	Active  bool
	Address string
}

// facetNames are the labels of the fields on the page.
var facetNames = map[string]string{
	"person": "People", "speaker": "Speakers", "team": "Teams", "type": "Types",
	"domain": "Companies", "language": "Languages", "month": "Months", "has": "With",
	"recorded-by": "Recorded by", "account": "Accounts", "is": "Meetings",
}

// facetViews makes links of an answer's facets. The query itself is the state:
// choosing a value writes its term into it, choosing it again takes it out.
func facetViews(facets []search.Facet, query string) []facetView {
	var views []facetView
	for _, f := range facets {
		field := f.Field
		v := facetView{Name: facetNames[field]}
		if v.Name == "" {
			v.Name = strings.ToUpper(field[:1]) + field[1:]
		}
		if field == "month" {
			field = "on"
		}
		for _, value := range f.Values {
			term := fieldTerm(field, value.Value)
			rest, active := removeTerm(query, term)
			to := query + " " + term
			if active {
				to = rest
			}
			v.Values = append(v.Values, facetValue{Label: facetLabel(f.Field, value.Value),
				Count: value.Count, Active: active, Address: searchAddress(to)})
		}
		if len(v.Values) > 0 {
			views = append(views, v)
		}
	}
	return views
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

// removeTerm removes a whole term from a query and tells whether it was there.
func removeTerm(query, term string) (string, bool) {
	for from := 0; ; {
		i := strings.Index(query[from:], term)
		if i < 0 {
			return query, false
		}
		i += from
		end := i + len(term)
		if (i == 0 || query[i-1] == ' ') && (end == len(query) || query[end] == ' ') {
			return strings.TrimSpace(strings.TrimSpace(query[:i]) + " " + strings.TrimSpace(query[end:])), true
		}
		from = end
	}
}
