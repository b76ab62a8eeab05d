package archive

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"minutebook/api"
)

// putOrganisation puts two teams, an administrator and six meetings, one for each
// way of being visible, and one more that only account "anns" is shown.
func putOrganisation(t *testing.T, a *Archive) {
	t.Helper()
	ctx := t.Context()
	access := func(level string, teams ...string) api.Opt[api.Permissions] {
		return api.Some(api.Permissions{SettingsAccess: api.Access{Level: api.SettingsNone},
			ViewAccess: api.Access{Level: level, Teams: teams}})
	}
	user := func(email, status string, p api.Opt[api.Permissions]) api.User {
		return api.User{Email: email, Status: status, Permissions: p}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.PutUsers(ctx, "main", []api.User{
		user("Ann@example.com", "active", access(api.ViewOwnMeetings)),
		user("bob@example.com", "active", access(api.ViewOwnMeetings)),
		user("lead@example.com", "active", access(api.ViewTeam, "Sales")),
		user("admin@example.com", "active", access(api.ViewAllTeams)),
		user("left@example.com", "deactivated", access(api.ViewAllTeams)),
	}))
	must(a.PutTeamMembers(ctx, "main", "Sales", []api.TeamMember{{Email: "bob@example.com"}}))
	must(a.PutTeamMembers(ctx, "main", "Support", []api.TeamMember{{Email: "member@example.com"}}))
	must(a.PutAccountPerson(ctx, "anns", "ann@example.com"))
	meeting := func(id int64, recorder, team, shared string) []byte {
		return fmt.Appendf(nil, `{"recording_id": %d, "title": "t", "shared_with": %q, "recorded_by": {"email": %q, "team": %q}}`,
			id, shared, recorder, team)
	}
	for id, m := range map[int64][]byte{
		1: meeting(1, "Ann@example.com", "Support", "no_teams"),
		2: meeting(2, "carol@example.com", "Sales", "single_team"),
		3: meeting(3, "carol@example.com", "Sales", "multiple_teams"),
		4: meeting(4, "carol@example.com", "Sales", "all_teams"),
		5: meeting(5, "carol@example.com", "Sales", "no_teams"),
		6: meeting(6, "carol@example.com", "Sales", "no_teams"),
	} {
		o := observe(t, SourceImport, epoch0, m)
		if id == 6 {
			o.Source, o.Account = SourceList, "anns"
		}
		apply(t, a, o)
	}
	must(a.PutShares(ctx, Share{5, UserPrincipal("Bob@example.com"), ShareLimited}))
}

// visibleTo is the meetings that each person sees, by the addresses of the person.
var visibleTo = map[string][]int64{
	"ann@example.com":    {1, 4, 6},
	"ANN@example.com":    {1, 4, 6},
	"bob@example.com":    {2, 4, 5},
	"lead@example.com":   {2, 4},
	"admin@example.com":  {2, 3, 4},
	"member@example.com": {4},
	"left@example.com":   nil,
	"carol@example.com":  {2, 3, 4, 5, 6},
	"nobody@example.com": nil,
	"":                   nil,

	"left@example.com BOB@example.com": {2, 4, 5},
	"ann@example.com bob@example.com":  {1, 2, 4, 5, 6},
}

func TestPrincipalsAndListShowTheSame(t *testing.T) {
	a := newArchive(t)
	putOrganisation(t, a)
	ids := []int64{1, 2, 3, 4, 5, 6, 99}
	meetings, err := a.Principals(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for email, want := range visibleTo {
		principals, err := a.ViewerPrincipals(t.Context(), ViewerWith(strings.Fields(email)...))
		if err != nil {
			t.Fatal(err)
		}
		var got, listed []int64
		for _, id := range ids {
			if slices.ContainsFunc(meetings[id], func(p string) bool { return slices.Contains(principals, p) }) {
				got = append(got, id)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q sees %v by principals, want %v", email, got, want)
		}
		rows, err := a.List(t.Context(), ListQuery{Viewer: ViewerWith(strings.Fields(email)...)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			listed = append(listed, r.RecordingID)
		}
		slices.Sort(listed)
		if !slices.Equal(listed, want) {
			t.Errorf("%q is listed %v, want %v", email, listed, want)
		}
	}
}

func TestVisibilityChangesEnterTheLog(t *testing.T) {
	a := newArchive(t)
	putOrganisation(t, a)
	steps := []struct {
		name string
		do   func() error
		want []ChangeKind
	}{
		{"same users again", func() error { u, _ := a.Users(t.Context()); return a.PutUsers(t.Context(), "main", u) }, nil},
		{"a membership", func() error {
			return a.PutTeamMembers(t.Context(), "main", "Sales", []api.TeamMember{{Email: "ann@example.com"}})
		}, []ChangeKind{ChangeDirectory}},
		{"the same share", func() error {
			return a.PutShares(t.Context(), Share{5, UserPrincipal("bob@example.com"), ShareLimited})
		}, nil},
		{"a higher share", func() error {
			return a.PutShares(t.Context(), Share{5, UserPrincipal("bob@example.com"), ShareStandard})
		}, []ChangeKind{ChangeVisibility}},
		{"shares set", func() error { return a.SetShares(t.Context(), 5, nil) }, []ChangeKind{ChangeVisibility}},
		{"shares set again", func() error { return a.SetShares(t.Context(), 5, nil) }, nil},
		{"a second account's sighting", func() error {
			o := observe(t, SourceList, epoch0, []byte(`{"recording_id": 1}`))
			o.Parts, o.Account = nil, "second"
			_, err := a.Apply(t.Context(), []Observation{o, o})
			return err
		}, []ChangeKind{ChangeVisibility}},
		{"a walk that misses what others see", func() error {
			o := observe(t, SourceList, epoch0, []byte(`{"recording_id": 1}`))
			o.Parts, o.Account = nil, "third"
			if _, err := a.Apply(t.Context(), []Observation{o}); err != nil {
				return err
			}
			walkTwice(t, a, "second", "")
			return nil
		}, []ChangeKind{ChangeVisibility, ChangeVisibility}},
	}
	for _, step := range steps {
		before, err := a.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		changes, err := a.Changes(t.Context(), before, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []ChangeKind
		for _, c := range changes {
			got = append(got, c.Kind)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%s logged %v, want %v", step.name, got, step.want)
		}
	}
}

// TestWhoRecordedSeesItHoweverTheAddressIsWritten writes white space around the recorder's address, and its
// letters A to Z large. A letter that looks alike is another address's (the Kelvin sign for k).
func TestWhoRecordedSeesItHoweverTheAddressIsWritten(t *testing.T) {
	a := newArchive(t)
	for i, email := range []string{"Kim@Acme.example", " kim@acme.example", "kim@acme.example\t", "kim@acme.example\u00a0", "\u2003kim@acme.example\n", "\u212aim@acme.example"} {
		apply(t, a, listedMeeting(t, "anna", "", 0, int64(i+1), email, "", api.SharedNoTeams))
	}
	got, want := listedTo(t, a, "kim@acme.example"), []int64{1, 2, 3, 4, 5}
	if !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("kim sees %v, want %v", got, want)
	}
	if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) > 0 {
		t.Errorf("damages: %v", damages)
	}
}
