package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"minutebook/search"
	"minutebook/search/query"
)

// maxTrends is how many queries one chart compares.
const maxTrends = 6

// trendsPage compares how often words were said.
type trendsPage struct {
	frame
	By      string
	Tabs    []trendTab
	Fields  []trendField // one for each query, and an empty one
	Lines   []trendLine
	Chart   *lineChart // by month
	Rows    []trendRow // the same as a table
	Ranges  bool       // a count is a lower bound
	More    bool       // teams or people are left out
	Mixed   bool       // some lines count meetings
	Problem string     // the mistake in a query, or ""
}

// trendTab leads to the same queries by another kind.
type trendTab struct {
	Label, Address string
	Current        bool
}

// trendField is a query in the form.
type trendField struct {
	Number int
	Query  string
}

// trendLine is a query with its total.
type trendLine struct {
	search.Trend
	Voice   int    // its colour
	Without string // the address without it
}

// trendRow is a month, team or person with a count for each line.
type trendRow struct {
	Label   string
	Address []string // of the results that a count is of
	Counts  []int
	Width   []float64 // of a bar, in percent of the largest
}

// trendQueries reads the queries of a request, each once.
func trendQueries(r *http.Request) []string {
	var queries []string
	for _, q := range r.URL.Query()["q"] {
		if q = strings.TrimSpace(q); q != "" && !slices.Contains(queries, q) && len(queries) < maxTrends {
			queries = append(queries, q)
		}
	}
	return queries
}

// trendKind reads the unit by which a request counts: months unless it names another.
func trendKind(r *http.Request) (string, error) {
	switch by := r.URL.Query().Get("by"); by {
	case "":
		return search.TrendMonth, nil
	case search.TrendMonth, search.TrendTeam, search.TrendPerson:
		return by, nil
	}
	return "", &failure{http.StatusBadRequest, "by is month, team or person"}
}

// countTrends counts queries for the visitor of a request.
func (s *server) countTrends(r *http.Request, by string, queries ...string) ([]search.Trend, error) {
	asked := s.searchRequest(r.Context(), "")
	return s.Index.Trends(r.Context(), search.TrendsRequest{Queries: queries, By: by, Viewer: asked.Viewer, Location: asked.Location,
		Notes: asked.Notes, SamePerson: asked.SamePerson})
}

// trends answers /trends?q=a&q=b&by=month.
func (s *server) trends(w http.ResponseWriter, r *http.Request) error {
	by, err := trendKind(r)
	if err != nil {
		return err
	}
	queries := trendQueries(r)
	p := trendsPage{frame: s.newFrame(r, "trends", "How often it was said"), By: by}
	for i := range min(len(queries)+1, maxTrends) {
		f := trendField{Number: i + 1}
		if i < len(queries) {
			f.Query = queries[i]
		}
		p.Fields = append(p.Fields, f)
	}
	for _, kind := range []struct{ by, label string }{{search.TrendMonth, "By month"}, {search.TrendTeam, "By team"}, {search.TrendPerson, "By person"}} {
		p.Tabs = append(p.Tabs, trendTab{kind.label, trendsAddress(kind.by, queries...), kind.by == by})
	}
	found, err := s.countTrends(r, by, queries...)
	if wrong, ok := err.(*search.QueryError); ok { //nolint:errorlint // as Trends returns it
		p.Problem = sentence(wrong)
		return s.render(w, http.StatusBadRequest, "trends", p)
	}
	if err != nil {
		return err
	}
	for i, t := range found {
		p.Lines = append(p.Lines, trendLine{t, i, trendsAddress(by, remove(queries, t.Query)...)})
		p.Ranges, p.Mixed = p.Ranges || !t.Exact, p.Mixed || t.Meetings
		p.More = p.More || t.More
	}
	p.Rows = s.newTrendRows(found, by)
	if by == search.TrendMonth {
		p.Chart = newLineChart(p.Rows, len(found))
	}
	return s.render(w, http.StatusOK, "trends", p)
}

func trendsAddress(by string, queries ...string) string {
	v := url.Values{"q": queries}
	if by != search.TrendMonth {
		v.Set("by", by)
	}
	return "/trends?" + v.Encode()
}

// newTrendRows puts the points of trends together by key: months in their order, others
// with the highest counts first.
func (s *server) newTrendRows(trends []search.Trend, by string) []trendRow {
	at, most := map[string]int{}, 1
	keys := trendKeys(trends)
	if by == search.TrendMonth { // each line has its own
		keys = fillMonths(slices.Sorted(slices.Values(keys)))
	}
	rows := make([]trendRow, len(keys))
	for i, key := range keys {
		at[key] = i
		rows[i] = trendRow{Label: trendLabel(by, key), Counts: make([]int, len(trends)), Address: make([]string, len(trends))}
	}
	for i, t := range trends {
		for _, point := range t.Points {
			rows[at[point.Key]].Counts[i] = point.Count
			most = max(most, point.Count)
		}
	}
	for i := range rows {
		for j, t := range trends {
			rows[i].Address[j] = searchAddress(narrowTo(t.Query, trendFilter(by, keys[i])))
			rows[i].Width = append(rows[i].Width, 100*float64(rows[i].Counts[j])/float64(most))
		}
	}
	return rows
}

// trendKeys lists the keys of the points of trends, each once.
func trendKeys(trends []search.Trend) (keys []string) {
	seen := map[string]bool{}
	for _, t := range trends {
		for _, point := range t.Points {
			if !seen[point.Key] {
				seen[point.Key] = true
				keys = append(keys, point.Key)
			}
		}
	}
	return keys
}

// mostMonths bounds a chart of lines, whose months may lie as far apart as 1904 and 2026.
const mostMonths = 480

// fillMonths adds those between the months of lines that do not meet. A chart without them would
// draw months side by side that years lie between.
func fillMonths(keys []string) []string {
	if len(keys) == 0 {
		return nil
	}
	first, err := time.Parse("2006-01", keys[0])
	last, err2 := time.Parse("2006-01", keys[len(keys)-1])
	if err != nil || err2 != nil || !last.Before(first.AddDate(0, mostMonths, 0)) {
		return keys
	}
	var all []string
	for m := first; !m.After(last); m = m.AddDate(0, 1, 0) {
		all = append(all, m.Format("2006-01"))
	}
	return all
}

func trendLabel(by, key string) string {
	if t, err := time.Parse("2006-01", key); err == nil && by == search.TrendMonth {
		return t.Format("Jan 2006")
	}
	return key
}

// trendFilter returns the filter for a point.
func trendFilter(by, key string) string {
	if by == search.TrendMonth {
		return "on:" + key
	}
	return fieldTerm(by, key)
}

// narrowTo returns a query for those of its results that a filter lets through. Its order stays.
func narrowTo(text, filter string) string {
	q, err := query.Parse(text)
	if err != nil {
		return filter
	}
	sort := q.Sort
	if text = strings.TrimSpace(q.Root.String()); text != "" {
		filter = "(" + text + ") " + filter
	}
	if sort != "" {
		filter += " sort:" + sort
	}
	return filter
}

// trendsJSON is the answer of /api/v1/trends.
type trendsJSON struct {
	By     string      `json:"by"`
	Series []trendJSON `json:"series"`
}

type trendJSON struct {
	Query  string      `json:"query"`
	Counts string      `json:"counts"` // occurrences or meetings
	Total  int         `json:"total"`
	Exact  bool        `json:"exact"`
	More   bool        `json:"more,omitempty"` // teams or people with less are left out
	Points []pointJSON `json:"points"`
}

type pointJSON struct {
	Key   string `json:"key"`
	Count int    `json:"count"`
}

// apiTrends answers /api/v1/trends?q=a&q=b&by=.
func (s *server) apiTrends(w http.ResponseWriter, r *http.Request) error {
	by, err := trendKind(r)
	if err != nil {
		return err
	}
	found, err := s.countTrends(r, by, trendQueries(r)...)
	if err != nil {
		return err
	}
	out := trendsJSON{By: by, Series: []trendJSON{}}
	for _, t := range found {
		v := trendJSON{Query: t.Query, Counts: "occurrences", Total: t.Total, Exact: t.Exact, More: t.More, Points: []pointJSON{}}
		if t.Meetings {
			v.Counts = "meetings"
		}
		for _, p := range t.Points {
			v.Points = append(v.Points, pointJSON(p))
		}
		out.Series = append(out.Series, v)
	}
	return answerJSON(w, r, out)
}
