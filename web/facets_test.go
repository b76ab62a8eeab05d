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

// TestValuesAreFoundByWhatTheyAreCalled looks for values with a code by the code and by the name.
func TestValuesAreFoundByWhatTheyAreCalled(t *testing.T) {
	testrun.SkipUnderRace(t)
	talk := func(language string) string {
		return `"transcript_language":"` + language + `","transcript":[{"speaker":{"display_name":"Bo"},"text":"Budget.","timestamp":"00:02:05"}]`
	}
	s := newSite(t, meeting(1, "One", "2025-03-10T09:00:00Z", talk("de")), meeting(2, "Two", "2026-03-10T09:00:00Z", talk("en")), meeting(3, "Three", "2026-05-10T09:00:00Z", talk("pt")))
	for find, want := range map[string]string{
		"month 2025": "2025-03", "month 2026-0": "2026-05 2026-03", "month mar": "2026-03 2025-03", "month March 2026": "2026-03", "month 2024": "",
		"language ger": "de", "language DE": "de", "language portu": "pt", "language x": "", "type x": "",
	} {
		field, begins, _ := strings.Cut(find, " ")
		var got struct{ Values []struct{ Value string } }
		s.answer(200, "/api/v1/facet?"+url.Values{"field": {field}, "find": {begins}}.Encode(), &got)
		var values []string
		for _, v := range got.Values {
			values = append(values, v.Value)
		}
		if strings.Join(values, " ") != want {
			t.Errorf("%s: %q, want %q", find, values, want)
		}
	}
	s.shows(200, "/facet?field=language&find=Ger", "German", "language%3Ade")
}
