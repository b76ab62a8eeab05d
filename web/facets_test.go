package web

import (
	"net/url"
	"strings"
	"testing"

	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/search/query"
)

// TestAMonthNarrowsItsYear chooses months beside queries that name days, months and years.
func TestAMonthNarrowsItsYear(t *testing.T) {
	testrun.SkipUnderRace(t)
	facet := search.Facet{Field: "month", Values: []search.FacetValue{{Value: "2026-01", Count: 1}}}
	for text, want := range map[string]string{
		"budget":                               "budget on:2026-01",
		"budget on:2026":                       "budget on:2026-01",
		"budget on:2026 OR on:2025":            "budget on:2025 OR on:2026-01",
		"budget on:2026-05":                    "budget on:2026-05 OR on:2026-01",
		"budget on:2026/5 OR on:2026":          "budget on:2026/5 OR on:2026-01",
		"budget on:2026-05-04":                 "budget on:2026-05-04 OR on:2026-01",
		"budget on:today":                      "budget on:today OR on:2026-01",
		"budget on:2026-01":                    "budget",
		"budget on:2026/01":                    "budget",
		"budget on:2026-1 OR on:2026/5":        "budget on:2026/5",
		"budget after:2026 before:2027":        "budget on:2026-01",
		"budget on:2026-01-05 OR on:yesterday": "budget on:2026-01-05 OR on:yesterday OR on:2026-01",
	} {
		q, err := query.Parse(text)
		must(t, err)
		got := newFacetValues(facet, q)[0]
		if got.Address != resultsAddress(want) || got.Active != !strings.Contains(want, "on:2026-01") {
			t.Errorf("%s: the month leads to %s (active: %t), want %s", text, got.Address, got.Active, want)
		}
	}
	s := newTalkSite(t)
	s.shows(200, "/?"+url.Values{"q": {"budget on:2026"}}.Encode(), `href="/?q=budget&#43;on%3A2026-01"`, `href="/?q=budget&#43;on%3A2026-05"`)
	s.shows(200, "/facet?"+url.Values{"q": {"budget on:2026"}, "field": {"month"}}.Encode(), `href="/?q=budget&#43;on%3A2026-03"`)
}
