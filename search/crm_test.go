package search

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestCRMIsFoundByWhoIsShownIt has one meeting that all see, with CRM matches of
// two accounts. Words, phrases, prefixes and has:crm find those of the viewer's
// own team, and whoever sees everything finds them all.
func TestCRMIsFoundByWhoIsShownIt(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(h.archive.PutUsers(ctx, "anns", []api.User{{Email: "cy@acme.example", Status: "active"}}))
	for account, email := range map[string]string{"anns": "ann@acme.example", "bobs": "bob@acme.example"} {
		must(h.archive.PutAccountPerson(ctx, account, email))
		must(h.archive.PutTeamMembers(ctx, "anns", account, []api.TeamMember{{Email: email}, {Email: "mate-of-" + email}}))
	}
	show := func(account string, hour int, deal string) {
		raw, err := json.Marshal(map[string]any{"recording_id": 1, "title": "Plan", "shared_with": "all_teams", "recording_start_time": day(1),
			"recorded_by": map[string]any{"email": "cy@acme.example"}, "crm_matches": json.RawMessage(fmt.Sprintf(`{"deals": [{"name": %q}]}`, deal))})
		must(err)
		o, err := archive.FromMeeting(account, archive.SourceList, time.Date(2026, 5, 1, hour, 0, 0, 0, time.UTC), raw)
		must(err)
		_, err = h.archive.Apply(ctx, []archive.Observation{o})
		must(err)
	}
	show("anns", 1, "Golden Apple Orchard")
	show("bobs", 2, "Yellow Banana Grove")
	show("anns", 3, "Golden Apple Orchard")
	h.catchUp()
	check := func(when string, owner map[string]bool, viewer archive.Viewer) {
		t.Helper()
		for query, whose := range map[string]string{
			"apple": "anns", "appl*": "anns", "aple~": "anns", `"golden apple"`: "anns", `"golden apple orchard"`: "anns", "in:crm orchard": "anns", "golden/appl*": "anns", "golden/banan*": "none", `in:crm "golden apple"`: "anns",
			"banana": "bobs", `"yellow banana grove"`: "bobs", "banan*": "bobs", `"golden banana"`: "none", "has:crm": "any", "in:crm": "any",
		} {
			want := 0
			if owner[whose] || whose == "any" && len(owner) > 0 {
				want = 1
			}
			a := h.search(Request{Query: query, Viewer: viewer, Facets: true, Trend: true})
			if a.Total != want {
				t.Errorf("%s: %q finds %d for %q, want %d", when, query, a.Total, viewer.Emails, want)
			}
		}
		plan, others := h.search(Request{Query: "plan", Viewer: viewer}).Total, h.search(Request{Query: "plan -appl*", Viewer: viewer}).Total
		if (plan > others) != owner["anns"] {
			t.Errorf("%s: %q finds %d plans, and %d without an apple", when, viewer.Emails, plan, others)
		}
		answer, err := json.Marshal(h.search(Request{Query: "plan OR apple OR banana", Viewer: viewer}).Meetings)
		must(err)
		for word, whose := range map[string]string{"Orchard": "anns", "Grove": "bobs"} {
			if got := strings.Contains(string(answer), word); got != owner[whose] {
				t.Errorf("%s: %q is shown %s %t, of %v", when, viewer.Emails, word, got, owner)
			}
		}
		counted := 0
		for _, f := range h.search(Request{Query: "plan", Viewer: viewer, Facets: true}).Facets {
			for _, v := range f.Values {
				if f.Field == "has" && v.Value == "crm" {
					counted = v.Count
				}
			}
		}
		if counted != min(len(owner), 1) {
			t.Errorf("%s: the facet counts %d meetings with CRM matches for %q, of %v", when, counted, viewer.Emails, owner)
		}
	}
	both := map[string]bool{"anns": true, "bobs": true}
	check("all", both, archive.Viewer{All: true})
	for _, mate := range []string{"", "mate-of-"} {
		check("own", map[string]bool{"anns": true}, archive.ViewerWith(mate+"ann@acme.example"))
		check("own", map[string]bool{"bobs": true}, archive.ViewerWith(mate+"bob@acme.example"))
	}
	check("nobody's", nil, archive.ViewerWith("cy@acme.example"))
	must(h.archive.SetAccounts(ctx, []archive.AccountSetting{{Name: "bobs", Email: "bob@acme.example"}}))
	check("anns has left", nil, archive.ViewerWith("ann@acme.example")) // and nothing has to be indexed for it
}

// TestRightsOfAddressesDoNotCombine asks as a person with two addresses: ann's sees a
// private meeting, and the other's team has linked the CRM.
func TestRightsOfAddressesDoNotCombine(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(h.archive.PutAccountPerson(ctx, "bobs", "bob@acme.example"))
	must(h.archive.PutTeamMembers(ctx, "bobs", "sales", []api.TeamMember{{Email: "bob@acme.example"}, {Email: "mate@acme.example"}}))
	must(h.archive.PutUsers(ctx, "bobs", []api.User{{Email: "ann-now@acme.example", Status: api.StatusDeactivated}}))
	o, err := archive.FromMeeting("bobs", archive.SourceList, time.Date(2026, 5, 1, 1, 0, 0, 0, time.UTC), []byte(`{"recording_id": 1, "title": "Plan",
		"shared_with": "no_teams", "recorded_by": {"email": "ann@acme.example"}, "crm_matches": {"deals": [{"name": "Yellow Banana Grove"}]}}`))
	must(err)
	_, err = h.archive.Apply(ctx, []archive.Observation{o})
	must(err)
	h.catchUp()
	for _, c := range []struct {
		emails  []string
		meeting int
		matches int
	}{
		{[]string{"ann@acme.example"}, 1, 0},
		{[]string{"mate@acme.example"}, 0, 0},
		{[]string{"ann@acme.example", "mate@acme.example"}, 1, 0},
		{[]string{"ann@acme.example", "bob@acme.example"}, 1, 1},
		{[]string{"bob@acme.example"}, 1, 1},
		{[]string{"ann@acme.example", "ann-now@acme.example"}, 0, 0}, // who is deactivated
	} {
		viewer := archive.ViewerWith(c.emails...)
		for query, want := range map[string]int{"plan": c.meeting, "banana": c.matches, "plan -yell*": c.meeting - c.matches, `"yellow banana"`: c.matches, "has:crm": c.matches} {
			if got := h.search(Request{Query: query, Viewer: viewer}).Total; got != want {
				t.Errorf("%q finds %d meetings for %q, want %d", c.emails, got, query, want)
			}
		}
		own, err := h.archive.CRMFor(ctx, viewer, []int64{1})
		must(err)
		if len(own) != c.matches {
			t.Errorf("%q is shown the CRM matches of %d meetings, want %d", c.emails, len(own), c.matches)
		}
	}
}
