package archive

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// TestAccountsDoNotTakeTurns shows a meeting each night to accounts that see different
// content for good, in light and in full lists. Only the first night logs anything.
// An edit is current at once, and stays; so is a team's name that some accounts are shown.
func TestAccountsDoNotTakeTurns(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := drawArchive(t)
	rapid.Check(t, func(rt *rapid.T) {
		clearArchive(rt, a)
		draw := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, label) }
		accounts := []string{"ann", "bob", "cyd"}[:rapid.IntRange(2, 3).Draw(rt, "accounts")]
		views := map[string][2]string{} // of an account: in light and full lists
		for _, name := range accounts {
			team := draw("team", "Sales", "")
			view := func(speaker string) string {
				return fmt.Sprintf(`{"recording_id":1,"title":"T%s","calendar_invitees_domains_type":"%s","share_url":"https://x/%s",
					"recorded_by":{"name":"Ann","email":"ann@x","team":"%s"},"shared_with":"all_teams",
					"calendar_invitees":[{"name":"Ann","email":"ann@x","is_external":%s,"matched_speaker_display_name":%s}%s]}`,
					draw("title", "", "", name), draw("domains", "only_internal", "one_or_more_external"), name, team,
					draw("external", "true", "false"), speaker, draw("more", "", `,{"name":"Di","email":"di@x"}`))
			}
			light := view("null")
			views[name] = [2]string{light, draw("full", strings.ReplaceAll(light, "_name\":null", "_name\":\"Ann L\""))}
		}
		summary := func(name string) json.RawMessage {
			return json.RawMessage(`{"template_name":"of ` + name + `","markdown_formatted":"# M"}`)
		}
		hour := 0
		night := func() (changed int) {
			for _, version := range []int{0, 1} {
				for _, name := range rapid.Permutation(accounts).Draw(rt, "order") {
					hour++
					o := Observation{Account: name, Source: SourceList, At: epoch0.Add(time.Duration(hour) * time.Hour), RecordingID: 1,
						Parts: map[api.Part]json.RawMessage{api.PartMeeting: json.RawMessage(views[name][version])}}
					if version == 1 {
						o.Parts[api.PartSummary] = summary(name)
					}
					applied, err := a.Apply(t.Context(), []Observation{o})
					if err != nil {
						rt.Fatal(err)
					}
					changed += len(applied.Changed)
				}
			}
			return changed
		}
		night()
		night() // the home may have come after another
		for range 3 {
			if n := night(); n > 0 {
				rt.Fatalf("a night without a change logged %d", n)
			}
		}
		for name, view := range views {
			for i := range view {
				view[i] = strings.Replace(view[i], `"recorded_by":{"name":"Ann"`, `"meeting_title":"New","recorded_by":{"name":"Anna"`, 1)
			}
			views[name] = view
		}
		night()
		night() // the home's next read outdates the versions that others were shown since its last one
		for range 2 {
			if n := night(); n > 0 {
				rt.Fatalf("a night after the edit logged %d", n)
			}
		}
		row, err := a.Row(t.Context(), 1)
		if err != nil || row.MeetingTitle != "New" || row.RecordedBy.Name != "Anna" {
			rt.Fatalf("the edit is not current: %+v, %v", row, err)
		}
		former := "Sales"
		for _, team := range []string{"Trade", "Sales"} { // the team is renamed, and back
			named := false
			for name, view := range views {
				for i := range view {
					view[i] = strings.Replace(view[i], `"team":"`+former, `"team":"`+team, 1)
					named = named || strings.Contains(view[i], team)
				}
				views[name] = view
			}
			former = team
			night()
			night()
			if n := night(); n > 0 {
				rt.Fatalf("a night after the team is %s logged %d", team, n)
			}
			if row, err := a.Row(t.Context(), 1); err != nil || named && row.RecordedBy.Team.Or("") != team {
				rt.Fatalf("the team is %q and not %q, %v", row.RecordedBy.Team.Or(""), team, err)
			}
		}
	})
}

// TestAHomeEndsWithTheTeam has a team that is renamed and renamed back while the account that was
// shown it first is shown none any more: for 100 days, or since it is another person's.
func TestAHomeEndsWithTheTeam(t *testing.T) {
	for name, c := range map[string]struct {
		credential string
		days       int
	}{"for long": {"1", 100}, "another person": {"2", 1}} {
		t.Run(name, func(t *testing.T) {
			a, hour := newArchive(t), 0
			night := func(ann, bob, want string) {
				apply(t, a, listedMeeting(t, "ann", "", hour, 1, "kim@x", ann, api.SharedAllTeams),
					listedMeeting(t, "bob", "", hour+1, 1, "kim@x", bob, api.SharedAllTeams))
				hour += 24
				if row, err := a.Row(t.Context(), 1); err != nil || row.RecordedBy.Team.Or("") != want {
					t.Errorf("the team is %q and not %q, %v", row.RecordedBy.Team.Or(""), want, err)
				}
			}
			accounts := []AccountSetting{{Name: "ann", Credential: "1", Queries: []string{""}}, {Name: "bob", Credential: "1", Queries: []string{""}}}
			must(t, a.SetAccounts(t.Context(), accounts))
			night("Sales", "Sales", "Sales")
			accounts[0].Credential = c.credential
			must(t, a.SetAccounts(t.Context(), accounts))
			night("", "Trade", "Trade")
			hour += c.days * 24
			night("", "Sales", "Sales")
		})
	}
}

// TestAMeetingThatDisappearsKeepsItsTeam has a team that is renamed and renamed back after the
// account that was shown it first has left. Then the lists lack the meeting, the last one of
// them that of an account that is shown no team. The walks of the home failed for the last days, and
// another account was shown another team for good.
func TestAMeetingThatDisappearsKeepsItsTeam(t *testing.T) {
	a, hour := newArchive(t), 0
	night := func(accounts []string, team string) {
		hour += 24
		for i, name := range accounts {
			named := map[string]string{"cyd": "", "dan": "Other"}
			if _, ok := named[name]; !ok {
				named[name] = team
			}
			apply(t, a, listedMeeting(t, name, "", hour+i, 1, "kim@x", named[name], api.SharedAllTeams))
		}
	}
	check := func(step string) {
		t.Helper()
		row, err := a.Row(t.Context(), 1)
		if err != nil || row.RecordedBy.Team.Or("") != "Sales" {
			t.Errorf("%s: the team is %q, %v", step, row.RecordedBy.Team.Or(""), err)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("%s: verify finds %v", step, damages)
		}
	}
	setting := func(name string) AccountSetting {
		return AccountSetting{Name: name, Credential: "1", Queries: []string{""}}
	}
	must(t, a.SetAccounts(t.Context(), []AccountSetting{setting("ann"), setting("bob"), setting("dan"), setting("cyd")}))
	night([]string{"ann", "bob", "dan", "cyd"}, "Sales")
	must(t, a.SetAccounts(t.Context(), []AccountSetting{setting("bob"), setting("dan"), setting("cyd")}))
	night([]string{"bob", "dan", "cyd"}, "Trade")
	for range 20 {
		night([]string{"bob", "dan", "cyd"}, "Sales")
	}
	for range 3 {
		night([]string{"dan", "cyd"}, "Sales")
	}
	check("shown")
	for _, name := range []string{"dan", "bob", "cyd"} {
		for range 2 {
			w, err := a.BeginWalk(t.Context(), name, "")
			must(t, err)
			_, err = a.CompleteWalk(t.Context(), w)
			must(t, err)
		}
		check("gone for " + name)
	}
}
