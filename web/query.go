package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/search"
	"minutebook/search/query"
)

// searchRequest returns a search as the visitor of a request asks it.
func (s *server) searchRequest(ctx context.Context, text string) search.Request {
	return s.searchRequestOf(ctx, viewerOf(ctx), personOf(ctx), text)
}

// searchRequestOf returns a search as a person asks it, whose viewer is given.
func (s *server) searchRequestOf(ctx context.Context, viewer archive.Viewer, person int64, text string) search.Request {
	r := search.Request{Query: text, Viewer: viewer, Location: s.Location}
	s.addNotes(ctx, person, &r)
	return r
}

// chip is a part of the query that can be taken out.
type chip struct {
	Label, Value string // such as type, Sales; the label is "" for words
	Without      string // the query without it
}

// listChips returns the parts of a query, the alternatives of one kind each by itself.
func listChips(q *query.Query) []chip {
	var chips []chip
	for i, part := range q.Parts() {
		field, values := query.ValuesOf(part)
		if field == "" {
			chips = append(chips, wordChip(part, q.WithoutPart(i).String()))
			continue
		}
		for _, value := range values {
			chips = append(chips, chip{field, value, q.WithoutValues(i, func(v string) bool { return v == value }).String()})
		}
	}
	if q.Sort != "" {
		chips = append(chips, chip{"sort", q.Sort, q.Root.String()})
	}
	return chips
}

// wordChip returns the chip of a word, a phrase or a group.
func wordChip(part query.Node, without string) chip {
	if not, ok := part.(*query.Not); ok {
		return chip{"not", not.Kid.String(), without}
	}
	return chip{"", part.String(), without}
}

// remove returns the values but for one.
func remove(values []string, value string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == value })
}

// controls are the fields of the form that writes sort:, in: and dates into the query.
type controls struct {
	Query         string
	Sort, Where   string
	From, To      string // days, To the last one
	Sorts, Wheres []option
}

// option is a choice of a form.
type option struct {
	Value, Label string
	Chosen       bool
}

// dateFields are the fields of the query language about a meeting's date.
var dateFields = []string{"after", "before", "on", "last"}

// newControls returns the form of a query. What it cannot show, such as after:4w, it leaves empty.
func newControls(q *query.Query, text string) controls {
	c := controls{Query: text, Sort: q.Sort, From: shiftDay(first(q.Values("after")), 0), To: shiftDay(first(q.Values("before")), -1)}
	if in := q.Values("in"); len(in) == 1 {
		c.Where = in[0]
	}
	c.Sorts = options(c.Sort, "", "Best first", query.SortDate, "Newest first")
	c.Wheres = options(c.Where, "", "Anywhere", "transcript", "Said", "summary", "Summary", "actions", "Action items", "highlights", "Highlights", "title", "Titles", "crm", "CRM")
	return c
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// options makes choices of values and labels in turn.
func options(chosen string, pairs ...string) []option {
	var out []option
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, option{pairs[i], pairs[i+1], pairs[i] == chosen})
	}
	return out
}

// refine answers /refine?q=&sort=&where=&from=&to=: it leads to the results of the query
// with these written into it. Of fields as the form showed them the query keeps its own words.
func (s *server) refine(w http.ResponseWriter, r *http.Request) error {
	form := r.URL.Query()
	q, err := query.Parse(form.Get("q"))
	if err != nil {
		return s.seeOther(w, r, searchAddress(form.Get("q"))) // which shows the mistake
	}
	shown := newControls(q, "")
	if where := form.Get("where"); where != shown.Where {
		q = q.With("in", filled(where)...)
	}
	if from := shiftDay(form.Get("from"), 0); from != shown.From {
		q = withDay(q, "after", from)
	}
	if to := shiftDay(form.Get("to"), 0); to != shown.To {
		q = withDay(q, "before", shiftDay(to, 1))
	}
	q.Sort = form.Get("sort")
	return s.seeOther(w, r, resultsAddress(q.String())) // a value that is none is shown as a mistake there
}

// withDay returns the query with a day for after: or before:, without any for "". A day takes the
// place of on: and last: too.
func withDay(q *query.Query, field, day string) *query.Query {
	if day != "" {
		q = q.Without("on", "last")
	}
	return q.With(field, filled(day)...)
}

// filled returns a value as a list, none for "".
func filled(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// resultsAddress returns the address of a query's results, and of the list for an empty
// query.
func resultsAddress(text string) string {
	if strings.TrimSpace(text) == "" {
		return "/"
	}
	return "/?" + url.Values{"q": {text}}.Encode()
}

// readDay reads the first day of a day, month or year as the query language writes them.
func readDay(text string) (day time.Time, ok bool) {
	text = strings.ReplaceAll(text, "/", "-")
	for _, layout := range []string{"2006-1-2", "2006-1", "2006"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return day, false
}

// shiftDay returns the day so many days after the first of a day, month or year, and ""
// for any other text, and before the year 1, where browsers know no day.
func shiftDay(text string, days int) string {
	t, ok := readDay(text)
	if t = t.AddDate(0, 0, days); !ok || t.Year() < 1 {
		return ""
	}
	return t.Format(time.DateOnly)
}
