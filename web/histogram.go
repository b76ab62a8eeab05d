package web

import (
	"time"

	"minutebook/search"
)

// histogram draws the meetings of an answer over time, as bars that narrow the
// query to their span. Its units are those of the drawing.
type histogram struct {
	Width, Height int
	Bars          []histogramBar
	From, To      string
}

type histogramBar struct {
	X, Y, Width, Height float64
	Label               string
	Count               int
	Address             string
}

const (
	histogramWidth  = 720
	histogramHeight = 48
)

// newHistogram returns nil for fewer than two bars.
func (s *server) newHistogram(bars []search.Bar, query string) *histogram {
	if len(bars) < 2 {
		return nil
	}
	most := 1
	for _, b := range bars {
		most = max(most, b.Count)
	}
	layout, span := barSpan(bars)
	h := &histogram{Width: histogramWidth, Height: histogramHeight,
		From: bars[0].From.In(s.Location).Format("January 2006"),
		To:   bars[len(bars)-1].From.In(s.Location).Format("January 2006")}
	step := float64(histogramWidth) / float64(len(bars))
	for i, b := range bars {
		if b.Count == 0 {
			continue
		}
		height := max(3, float64(b.Count)/float64(most)*(histogramHeight-2))
		from := b.From.In(s.Location)
		width := min(step*0.86, 64)
		v := histogramBar{X: (float64(i)+0.5)*step - width/2, Width: width, Y: histogramHeight - height,
			Height: height, Count: b.Count, Label: from.Format(layout)}
		v.Address = searchAddress(query + " " + span(from))
		h.Bars = append(h.Bars, v)
	}
	return h
}

// barSpan derives the layout of a bar's label, and the query term for its span,
// from the distance of two bars.
func barSpan(bars []search.Bar) (layout string, term func(time.Time) string) {
	dayTerm := func(layout string) func(time.Time) string {
		return func(t time.Time) string { return "on:" + t.Format(layout) }
	}
	switch width := bars[1].From.Sub(bars[0].From); {
	case width > 200*24*time.Hour:
		return "2006", dayTerm("2006")
	case width > 20*24*time.Hour:
		return "January 2006", dayTerm("2006-01")
	case width > 36*time.Hour:
		return "2 January 2006", func(t time.Time) string {
			return "after:" + t.Format(time.DateOnly) +
				" before:" + t.Add(width+time.Hour).Format(time.DateOnly)
		}
	}
	return "2 January 2006", dayTerm(time.DateOnly)
}
