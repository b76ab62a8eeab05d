package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestCRMMatchesAreTheirTeams has a meeting that everybody sees and that two
// accounts were shown with the matches of their own CRM: lists and webhooks hold
// those of the caller's and the caller's team's, and nobody else's.
func TestCRMMatchesAreTheirTeams(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := openTestArchive(t, ArchiveDir(t))
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	member := func(emails ...string) (list []api.TeamMember) {
		for _, e := range emails {
			list = append(list, api.TeamMember{Email: e})
		}
		return list
	}
	set := func(annsOwner string) {
		must(a.SetAccounts(ctx, []archive.AccountSetting{{Name: "anns", Email: annsOwner, Credential: "1", Queries: []string{""}},
			{Name: "bobs", Email: "bob@acme.example", Credential: "2", Queries: []string{""}}}))
	}
	set("ann@acme.example")
	must(a.PutTeamMembers(ctx, "anns", "Sales", member("ann@acme.example", "sam@acme.example")))
	must(a.PutTeamMembers(ctx, "anns", "Support", member("bob@acme.example", "eve@acme.example")))
	must(a.PutTeamMembers(ctx, "anns", "Legal", member("cy@acme.example")))
	s := newSandbox(t, Options{Archive: a})
	hooks := map[string]string{"ann": "Apple", "sam": "Apple", "bob": "Banana", "eve": "Banana", "cy": ""}
	for name := range hooks {
		must(s.store.putWebhook(ctx, &webhook{email: name + "@acme.example", url: "https://hooks.example/" + name, createdAt: testStart,
			triggers: []string{api.TriggerMyRecordings, api.TriggerSharedTeam}, includes: []api.Part{api.PartCRM}}))
	}
	deal := func(name string) string {
		return newer(1, append(recordedBy("cy", "Legal"), "shared_with", `"all_teams"`, "crm_matches", fmt.Sprintf(`{"deals": [{"name": %q}]}`, name))...)
	}
	arriveAt(t, a, "anns", archive.SourceList, testStart, deal("Apple"))
	arriveAt(t, a, "bobs", archive.SourceList, testStart.Add(time.Minute), deal("Banana"))
	holds := func(what, text, want string) {
		t.Helper()
		for _, name := range []string{"Apple", "Banana"} {
			if got := strings.Contains(text, name); got != (name == want) {
				t.Errorf("%s: has %s %t, want only %q", what, name, got, want)
			}
		}
	}
	for name, want := range hooks {
		holds(name, string(s.get("/meetings?include_crm_matches=true", s.key(name+"@acme.example"), 200).body), want)
	}
	s.caughtUp(t)
	for name, want := range hooks {
		var state, body string
		err := s.store.db.R.QueryRowContext(ctx, `SELECT state, coalesce(CAST(body AS TEXT), '') FROM deliveries WHERE owner = ?`, name+"@acme.example").Scan(&state, &body)
		if err != nil || !strings.Contains(body, `"crm_matches":`) {
			t.Errorf("the webhook of %s: %s %s, %v", name, state, body, err)
		}
		holds("webhook of "+name, body, want)
	}
	set("eve@acme.example") // the account's new owner sees no matches that ann was shown
	for name := range hooks {
		want := hooks[name]
		if want == "Apple" {
			want = ""
		}
		holds("handed over: "+name, string(s.get("/meetings?include_crm_matches=true", s.key(name+"@acme.example"), 200).body), want)
	}
	arriveAt(t, a, "anns", archive.SourceList, testStart.Add(time.Hour), deal("Apple"))
	holds("read for eve", string(s.get("/meetings?include_crm_matches=true", s.key("eve@acme.example"), 200).body), "Apple")
	holds("bob's own still", string(s.get("/meetings?include_crm_matches=true", s.key("bob@acme.example"), 200).body), "Banana")
	holds("cy still", string(s.get("/meetings?include_crm_matches=true", s.key("cy@acme.example"), 200).body), "")
}
