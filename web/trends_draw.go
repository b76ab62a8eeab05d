package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"minutebook/search"
	"minutebook/search/query"
)

// Sizes of the charts, in the units of their drawings.
const (
	chartWidth = 720
	barHeight  = 48
	lineHeight = 220
	lineEdge   = 8 // above the highest point and below zero
)

// barChart draws how often a query's words were said, or how many meetings a query
// without words finds, by month. It is of the query without its dates, so that it stays
// after narrowing.
type barChart struct {
	Width, Height int
	Bars          []chartBar
	From, To      string
	Base          string // the query without dates
	Total         int
	Exact         bool
	Meetings      bool
	Narrowed      bool   // only some of the months are asked for
	Whole         string // the address without dates
	Compare       string // the address of the page that compares
}

// chartBar is one month. Its link narrows the query to it.
type chartBar struct {
	X, Y, Width, Height float64
	Month, Label        string
	Count               int
	Chosen              bool
	Address             string
}

// newBarChart draws the trend of a query without its dates. It returns nil for fewer than
// two months.
func (s *server) newBarChart(r *http.Request, q *query.Query, t *search.Trend) (*barChart, error) {
	base := q.Without(dateFields...)
	if len(t.Points) < 2 || t.Total == 0 {
		return nil, nil
	}
	chosen, err := s.monthsOf(r, q)
	if err != nil {
		return nil, err
	}
	c := &barChart{Width: chartWidth, Height: barHeight, Base: base.String(), Total: t.Total, Exact: t.Exact, Meetings: t.Meetings,
		Narrowed: len(base.Parts()) != len(q.Parts()), Whole: resultsAddress(base.String()), Compare: trendsAddress(search.TrendMonth, base.String()),
		From: facetLabel("month", t.Points[0].Key), To: facetLabel("month", t.Points[len(t.Points)-1].Key)}
	most := 1
	for _, p := range t.Points {
		most = max(most, p.Count)
	}
	step := float64(chartWidth) / float64(len(t.Points))
	for i, p := range t.Points {
		tall := 0.0
		if p.Count > 0 {
			tall = max(3, float64(p.Count)/float64(most)*(barHeight-2))
		}
		wide := min(step*0.86, 64)
		c.Bars = append(c.Bars, chartBar{X: (float64(i)+0.5)*step - wide/2, Width: wide, Y: barHeight - tall, Height: tall,
			Month: p.Key, Count: p.Count, Label: facetLabel("month", p.Key),
			Chosen: !c.Narrowed || slices.Contains(chosen, p.Key), Address: resultsAddress(base.With("on", p.Key).String())})
	}
	return c, nil
}

// monthsOf lists the months of the meetings that the dates of a query hold for.
func (s *server) monthsOf(r *http.Request, q *query.Query) ([]string, error) {
	dates := &query.Query{Root: &query.And{}}
	for _, part := range q.Parts() {
		if field, _ := query.ValuesOf(part); slices.Contains(dateFields, field) {
			dates.Root = &query.And{Kids: append(dates.Parts(), part)}
		}
	}
	if len(dates.Parts()) == 0 {
		return nil, nil
	}
	found, err := s.countTrends(r, search.TrendMonth, dates.String())
	if err != nil {
		return nil, err
	}
	var months []string
	for _, p := range found[0].Points {
		months = append(months, p.Key)
	}
	return months, nil
}

// lineChart draws the counts of several queries by month, a line for each.
type lineChart struct {
	Width, Height int
	Lines         []chartLine
	Most          int // of the scale
	From, To      string
}

// chartLine is a line and its dots.
type chartLine struct {
	Voice  int
	Points string // of an SVG polyline
	Dots   []chartDot
}

type chartDot struct {
	X, Y           float64
	Label, Address string
	Count          int
}

// newLineChart returns nil for fewer than two months.
func newLineChart(rows []trendRow, lines int) *lineChart {
	if len(rows) < 2 || lines == 0 {
		return nil
	}
	c := &lineChart{Width: chartWidth, Height: lineHeight, Most: 1, From: rows[0].Label, To: rows[len(rows)-1].Label}
	for _, r := range rows {
		c.Most = max(c.Most, slices.Max(r.Counts))
	}
	step := float64(chartWidth-2*lineEdge) / float64(len(rows)-1)
	for i := range lines {
		line := chartLine{Voice: i}
		var points strings.Builder
		for j, r := range rows {
			dot := chartDot{X: lineEdge + float64(j)*step, Label: r.Label, Address: r.Address[i], Count: r.Counts[i],
				Y: lineHeight - lineEdge - float64(r.Counts[i])/float64(c.Most)*(lineHeight-2*lineEdge)}
			fmt.Fprintf(&points, "%.1f,%.1f ", dot.X, dot.Y)
			if r.Counts[i] > 0 {
				line.Dots = append(line.Dots, dot)
			}
		}
		line.Points = strings.TrimSpace(points.String())
		c.Lines = append(c.Lines, line)
	}
	return c
}
