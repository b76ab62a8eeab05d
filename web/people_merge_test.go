package web

import (
	"net/url"
	"testing"

	"minutebook/internal/testrun"
)

// TestAMergeStaysWithTheNameThatWasTyped merges a part of a person with another one, and
// takes the person apart: the part keeps the other.
func TestAMergeStaysWithTheNameThatWasTyped(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Herd", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Ada"},"text":"A walrus.","timestamp":"00:00:01"},
		{"speaker":{"display_name":"Ben"},"text":"A seal.","timestamp":"00:00:02"},{"speaker":{"display_name":"Cy"},"text":"A whale.","timestamp":"00:00:03"}]`))
	for _, c := range []struct {
		second [2]string
		left   string
	}{{[2]string{"Ben", "Cy"}, `"names":["Ben","Cy"]`}, {[2]string{"Cy", "ben"}, `"names":["Cy","Ben"]`}} {
		for _, pair := range [][2]string{{"Ada", "Ben"}, c.second} {
			if resp, body := s.submit("/people/merge", url.Values{"keep": {pair[0]}, "other": {pair[1]}}.Encode()); resp.StatusCode != 303 {
				t.Fatalf("%q: %s %s", pair, resp.Status, body)
			}
		}
		s.shows(200, "/api/v1/people/Cy", `"Ada"`, `"Ben"`, `"Cy"`)
		all, err := s.notes.Judgements(t.Context())
		must(t, err)
		must(t, s.notes.Undo(t.Context(), all[0].ID))
		s.shows(200, "/api/v1/people/Cy", c.left)
		s.shows(200, "/api/v1/people/Ada", `"names":["Ada"]`)
		must(t, s.notes.Undo(t.Context(), all[1].ID))
		s.shows(200, "/api/v1/people/Cy", `"names":["Cy"]`)
	}
}
