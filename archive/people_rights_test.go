package archive

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// listedMeeting returns a meeting as a list of an account showed it.
func listedMeeting(t *testing.T, account, query string, hour int, id int64, recorder, team, sharedWith string) Observation {
	t.Helper()
	o := observe(t, SourceList, epoch0.Add(time.Duration(hour)*time.Hour), fmt.Appendf(nil,
		`{"recording_id": %d, "title": "t", "shared_with": %q, "recorded_by": {"email": %q, "team": %q}}`, id, sharedWith, recorder, team))
	o.Account, o.Query = account, query
	return o
}

// listedTo returns the meetings that a person is listed.
func listedTo(t *testing.T, a *Archive, email string) []int64 {
	t.Helper()
	rows, err := a.List(t.Context(), ListQuery{Viewer: ViewerWith(email), IncludeGone: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.RecordingID)
	}
	slices.Sort(ids)
	return ids
}

func membersList(emails ...string) (list []api.TeamMember) {
	for _, e := range emails {
		list = append(list, api.TeamMember{Email: e})
	}
	return list
}

func userWithView(email, status string) api.User {
	return api.User{Email: email, Status: status, Permissions: api.Some(api.Permissions{SettingsAccess: api.Access{Level: api.SettingsNone}, ViewAccess: api.Access{Level: api.ViewAllTeams}})}
}

// TestOutsideSharesAddNobody has meetings that were recorded outside, whose
// shared_with is about the teams of another organisation, one of which has the
// name of a team here. Only the account that is shown them sees them.
func TestOutsideSharesAddNobody(t *testing.T) {
	a := newArchive(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.PutTeamMembers(t.Context(), "anns", "Sales", membersList("bob@acme.example", "ann@acme.example")))
	must(a.PutUsers(t.Context(), "anns", []api.User{userWithView("boss@acme.example", api.StatusActive)}))
	must(a.PutAccountPerson(t.Context(), "anns", "ann@acme.example"))
	apply(t, a,
		listedMeeting(t, "anns", "recorded_by:x", 0, 1, "zoe@other.example", "Sales", api.SharedAllTeams),
		listedMeeting(t, "anns", "recorded_by:x", 0, 2, "zoe@other.example", "Sales", api.SharedSingleTeam),
		listedMeeting(t, "anns", "recorded_by:x", 0, 3, "zoe@other.example", "Sales", api.SharedMultipleTeams),
		listedMeeting(t, "anns", "recorded_by:x", 0, 4, "kim@acme.example", "Sales", api.SharedAllTeams),
		listedMeeting(t, "anns", "recorded_by:x", 0, 5, "bob@acme.example", "Sales", api.SharedAllTeams))
	check := func(step string, want map[string][]int64) {
		t.Helper()
		for email, ids := range want {
			if got := listedTo(t, a, email); !slices.Equal(got, ids) {
				t.Errorf("%s: %s sees %v, want %v", step, email, got, ids)
			}
		}
	}
	// No plain list yet: bob is known, and kim's domain proves nothing.
	check("without a plain list", map[string][]int64{"ann@acme.example": {1, 2, 3, 4, 5}, "bob@acme.example": {5}, "boss@acme.example": {5}})
	apply(t, a, listedMeeting(t, "anns", "", 1, 6, "kim@acme.example", "", api.SharedSingleTeam))
	// The plain list shows kim and not bob. Whom a team is shared with is not told of 6.
	check("with a plain list", map[string][]int64{"bob@acme.example": {4, 5}, "boss@acme.example": {4, 6}})
	if _, err := a.Forget(t.Context(), 6, "test"); err != nil {
		t.Fatal(err)
	}
	check("with what showed kim forgotten", map[string][]int64{"bob@acme.example": {5}, "boss@acme.example": nil})
	apply(t, a, listedMeeting(t, "anns", "", 2, 7, "bob@acme.example", "Sales", api.SharedNoTeams))
	check("with bob in the list", map[string][]int64{"bob@acme.example": {5, 7}, "boss@acme.example": {5}})
	apply(t, a, listedMeeting(t, "anns", "", 3, 7, "kim@acme.example", "Sales", api.SharedNoTeams))
	check("with 7 kim's in truth", map[string][]int64{"bob@acme.example": {4, 5}, "boss@acme.example": {4}})
}

// A meeting that no list shows any more may have been made private.
func TestWhatIsGoneIsSharedWithNobody(t *testing.T) {
	a := newArchive(t)
	if err := a.PutUsers(t.Context(), "anns", []api.User{userWithView("boss@acme.example", api.StatusActive)}); err != nil {
		t.Fatal(err)
	}
	apply(t, a,
		listedMeeting(t, "anns", "", 0, 1, "kim@acme.example", "Sales", api.SharedAllTeams),
		listedMeeting(t, "anns", "", 0, 2, "kim@acme.example", "Sales", api.SharedAllTeams))
	if got := listedTo(t, a, "boss@acme.example"); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("boss sees %v", got)
	}
	walkTwice(t, a, "anns", "", 2)
	if got := listedTo(t, a, "boss@acme.example"); !slices.Equal(got, []int64{2}) {
		t.Errorf("with 1 gone, boss sees %v", got)
	}
}

// TestRightsEndWithWhatGaveThem takes each source of a right away and looks at
// once; rights from other sources stay.
func TestRightsEndWithWhatGaveThem(t *testing.T) {
	testrun.SkipUnderRace(t)
	const ann, bob = "ann@acme.example", "bob@acme.example"
	anns := AccountSetting{Name: "anns", Email: ann, Credential: "1", Queries: []string{"", "teams:x"}}
	bobs := AccountSetting{Name: "bobs", Email: bob, Credential: "2", Queries: []string{""}}
	set := func(settings ...AccountSetting) func(*Archive) error {
		return func(a *Archive) error { return a.SetAccounts(t.Context(), settings) }
	}
	changed := func(s AccountSetting, change func(*AccountSetting)) AccountSetting { change(&s); return s }
	walked := func(account string, ids ...int64) func(*Archive) error {
		return func(a *Archive) error {
			_, err := a.Apply(t.Context(), listObservations(account, "", 100, ids...))
			return err
		}
	}
	for name, c := range map[string]struct {
		do        []func(*Archive) error
		ann, bob  []int64
		unwatched []int64
	}{
		"nothing":           {nil, []int64{1, 2, 3, 9}, []int64{3, 4, 9}, nil},
		"the same again":    {[]func(*Archive) error{set(anns, bobs)}, []int64{1, 2, 3, 9}, []int64{3, 4, 9}, nil},
		"an account":        {[]func(*Archive) error{set(bobs)}, []int64{9}, []int64{3, 4, 9}, []int64{1, 2}},
		"and back":          {[]func(*Archive) error{set(bobs), set(anns, bobs)}, []int64{1, 2, 3, 9}, []int64{3, 4, 9}, nil},
		"and back as bob's": {[]func(*Archive) error{set(bobs), set(changed(anns, func(s *AccountSetting) { s.Email = bob }), bobs)}, []int64{9}, []int64{3, 4, 9}, []int64{1, 2}},
		"all accounts":      {[]func(*Archive) error{set()}, nil, nil, []int64{1, 2, 3, 4, 9}},
		"a pass":            {[]func(*Archive) error{set(changed(anns, func(s *AccountSetting) { s.Queries = []string{"", "teams:y"} }), bobs)}, []int64{1, 3, 9}, []int64{3, 4, 9}, []int64{2}},
		"an address":        {[]func(*Archive) error{set(changed(anns, func(s *AccountSetting) { s.Email = "" }), bobs)}, []int64{9}, []int64{3, 4, 9}, nil},
		"a person":          {[]func(*Archive) error{set(changed(anns, func(s *AccountSetting) { s.Email = bob }), bobs)}, []int64{9}, []int64{3, 4, 9}, []int64{1, 2}},
		"a person, walked":  {[]func(*Archive) error{set(changed(anns, func(s *AccountSetting) { s.Email = bob }), bobs), walked("anns", 1)}, []int64{9}, []int64{1, 3, 4, 9}, []int64{2}},
		"a credential":      {[]func(*Archive) error{set(changed(anns, func(s *AccountSetting) { s.Credential = "3" }), bobs)}, []int64{9}, []int64{3, 4, 9}, []int64{1, 2}},
		"and walked":        {[]func(*Archive) error{set(changed(anns, func(s *AccountSetting) { s.Credential = "3" }), bobs), walked("anns", 1)}, []int64{1, 9}, []int64{3, 4, 9}, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			if err := a.SetAccounts(t.Context(), []AccountSetting{anns, bobs}); err != nil {
				t.Fatal(err)
			}
			if err := a.PutTeamMembers(t.Context(), "bobs", "Sales", membersList(ann, bob)); err != nil {
				t.Fatal(err)
			}
			const carol = "carol@acme.example"
			apply(t, a, listedMeeting(t, "anns", "", 0, 1, carol, "", api.SharedNoTeams), listedMeeting(t, "anns", "teams:x", 0, 2, carol, "", api.SharedNoTeams),
				listedMeeting(t, "anns", "", 0, 3, carol, "", api.SharedNoTeams), listedMeeting(t, "bobs", "", 0, 3, carol, "", api.SharedNoTeams),
				listedMeeting(t, "bobs", "", 0, 4, carol, "", api.SharedNoTeams),
				listedMeeting(t, "anns", "", 0, 9, carol, "", api.SharedAllTeams), listedMeeting(t, "bobs", "", 0, 9, carol, "", api.SharedAllTeams))
			for _, do := range c.do {
				if err := do(a); err != nil {
					t.Fatal(err)
				}
			}
			if got := listedTo(t, a, ann); !slices.Equal(got, c.ann) {
				t.Errorf("ann sees %v, want %v", got, c.ann)
			}
			if got := listedTo(t, a, bob); !slices.Equal(got, c.bob) {
				t.Errorf("bob sees %v, want %v", got, c.bob)
			}
			var unwatched []int64
			for _, id := range []int64{1, 2, 3, 4, 9} {
				row, err := a.Row(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if row.Gone {
					t.Errorf("%d is gone", id)
				}
				if !row.NotWatchedSince.IsZero() {
					unwatched = append(unwatched, id)
				}
			}
			if !slices.Equal(unwatched, c.unwatched) {
				t.Errorf("%v are not watched, want %v", unwatched, c.unwatched)
			}
		})
	}
}

// TestTheListOfANewHolderEntersTheLog: a meeting that the former holder of an account was
// shown is news to followers when the new holder is shown it.
func TestTheListOfANewHolderEntersTheLog(t *testing.T) {
	a := newArchive(t)
	anns := AccountSetting{Name: "anns", Email: "ann@acme.example", Queries: []string{""}}
	for _, email := range []string{"ann@acme.example", "bob@acme.example"} {
		anns.Email = email
		if err := a.SetAccounts(t.Context(), []AccountSetting{anns}); err != nil {
			t.Fatal(err)
		}
		head, err := a.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		apply(t, a, listedMeeting(t, "anns", "", 0, 1, "carol@acme.example", "", api.SharedNoTeams))
		changes, err := a.Changes(t.Context(), head, 10)
		if err != nil || !slices.ContainsFunc(changes, func(c Change) bool { return c.RecordingID == 1 }) {
			t.Errorf("when %s is shown the meeting, the log has %+v (%v)", email, changes, err)
		}
		if sees := listedTo(t, a, email); !slices.Equal(sees, []int64{1}) {
			t.Errorf("%s sees %v", email, sees)
		}
	}
}

// TestTheLastDirectoryCounts ends rights with the directory that gave them.
func TestTheLastDirectoryCounts(t *testing.T) {
	a := newArchive(t)
	ctx := t.Context()
	const kim, lee = "kim@acme.example", "lee@acme.example"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(step, email, principal string, want bool) {
		t.Helper()
		principals, err := a.ViewerPrincipals(ctx, ViewerWith(email))
		must(err)
		if got := slices.Contains(principals, principal); got != want {
			t.Errorf("%s: %s has %v; %s %t, want %t", step, email, principals, principal, got, want)
		}
	}
	must(a.PutTeams(ctx, "zed", []api.Team{{Name: "Old"}, {Name: "New"}}))
	must(a.PutTeamMembers(ctx, "zed", "Old", membersList(kim)))
	has("a member", kim, "team:Old", true)
	must(a.PutTeams(ctx, "zed", []api.Team{{Name: "New"}}))
	has("the team was renamed", kim, "team:Old", false)
	has("and nothing else shows kim", kim, PrincipalEveryone, false)

	must(a.PutUsers(ctx, "anna", []api.User{userWithView(lee, api.StatusActive)}))
	has("active", lee, PrincipalShared, true)
	must(a.PutUsers(ctx, "zed", []api.User{userWithView(lee, api.StatusDeactivated)}))
	has("deactivated by a later list", lee, PrincipalShared, false)
	has("deactivated", lee, UserPrincipal(lee), false)
	must(a.PutUsers(ctx, "zed", []api.User{userWithView(lee, api.StatusInvited)}))
	has("invited, by name", lee, UserPrincipal(lee), true)
	has("only invited", lee, PrincipalEveryone, false)
	has("only invited", lee, PrincipalShared, false)
	must(a.PutUsers(ctx, "zed", []api.User{userWithView(lee, api.StatusDeactivated)}))
	must(a.PutUsers(ctx, "anna", []api.User{userWithView(lee, api.StatusActive)}))
	has("active again, as the first list said", lee, PrincipalShared, true)
	must(a.PutSomeUsers(ctx, "anna", []api.User{userWithView(kim, api.StatusActive)}))
	has("not on a list that lacks some", lee, PrincipalShared, true)
	must(a.PutSomeUsers(ctx, "anna", []api.User{userWithView(lee, api.StatusDeactivated)}))
	has("deactivated by a list that lacks some", lee, PrincipalShared, false)
	has("not on that list", kim, PrincipalShared, true)
	must(a.PutUsers(ctx, "anna", []api.User{userWithView(lee, api.StatusActive)}))
	must(a.PutUsers(ctx, "zed", []api.User{userWithView(lee, api.StatusDeactivated)}))
	must(second(a.EndUsers(ctx, "zed")))
	has("deactivated still, though zed reads no users any more", lee, PrincipalShared, false)
	must(a.PutUsers(ctx, "anna", []api.User{userWithView(lee, api.StatusActive)}))
	must(second(a.EndUsers(ctx, "anna")))
	has("no list shows lee active", lee, PrincipalEveryone, false)
	must(a.PutUsers(ctx, "anna", []api.User{userWithView(lee, api.StatusActive)}))
	must(a.SetAccounts(ctx, []AccountSetting{{Name: "zed"}}))
	has("anna has left", lee, PrincipalEveryone, false)
}

// TestADeactivatedAddressGivesNothing has a person with two addresses, one of which a list calls
// deactivated: the person sees meetings by the other one alone (docs/access.md).
func TestADeactivatedAddressGivesNothing(t *testing.T) {
	const kim, lee = "kim@acme.example", "lee@acme.example"
	a := newArchive(t)
	must(t, a.PutUsers(t.Context(), "anna", []api.User{userWithView(kim, api.StatusActive), userWithView(lee, api.StatusDeactivated)}))
	got, err := a.ViewerPrincipals(t.Context(), ViewerWith(kim, lee))
	if err != nil || !slices.Contains(got, UserPrincipal(kim)) || slices.Contains(got, UserPrincipal(lee)) {
		t.Errorf("a person with an active and a deactivated address has %v, %v", got, err)
	}
}

// TestARecorderEndsWithItsReader shows a meeting to two accounts with different recorders. The
// recorder whom bobs is shown is of another organisation, and becomes the meeting's when anns is
// shown the meeting no more.
func TestARecorderEndsWithItsReader(t *testing.T) {
	const boss = "boss@acme.example"
	anns := AccountSetting{Name: "anns", Queries: []string{"", "q"}}
	bobs := AccountSetting{Name: "bobs", Queries: []string{"", "q"}}
	for name, end := range map[string]func(a *Archive){
		"no account": func(a *Archive) { must(t, a.SetAccounts(t.Context(), []AccountSetting{bobs})) },
		"unreadable": func(a *Archive) {
			damageDatabase(t, a.db.Path, `UPDATE bodies SET encoding = 1, body = x'00' WHERE revision_id IN (SELECT id FROM revisions WHERE part <> 'meeting')`)
			must(t, a.SetAccounts(t.Context(), []AccountSetting{bobs}))
		},
		"the walks lack the meeting": func(a *Archive) {
			for range 2 {
				completeWalk(t, a, beginWalk(t, a, "anns", "q"))
			}
		},
	} {
		a := newArchive(t)
		must(t, a.SetAccounts(t.Context(), []AccountSetting{anns, bobs}))
		must(t, a.PutUsers(t.Context(), "bobs", []api.User{userWithView(boss, api.StatusActive)}))
		apply(t, a, listedMeeting(t, "bobs", "", 0, 9, "kim@acme.example", "Sales", api.SharedAllTeams),
			listedMeeting(t, "anns", "q", 1, 1, "kim@acme.example", "Sales", api.SharedAllTeams),
			listedMeeting(t, "bobs", "q", 2, 1, "zoe@other.example", "Sales", api.SharedAllTeams),
			listedMeeting(t, "anns", "q", 3, 1, "kim@acme.example", "Sales", api.SharedAllTeams))
		for i, account := range []string{"anns", "bobs"} {
			summary := summaryRead(SourceSummary, epoch0, int64(i+1), account)
			summary.Account = account
			apply(t, a, summary)
		}
		head, _ := a.Head(t.Context())
		if got := listedTo(t, a, boss); !slices.Equal(got, []int64{1, 9}) {
			t.Errorf("%s: at first %v are seen", name, got)
		}
		end(a)
		if got := listedTo(t, a, boss); !slices.Equal(got, []int64{9}) {
			t.Errorf("%s: then %v are seen", name, got)
		}
		changes, err := a.Changes(t.Context(), head, 10)
		if err != nil || !slices.ContainsFunc(changes, func(c Change) bool { return c.RecordingID == 1 && c.Part == api.PartMeeting }) {
			t.Errorf("%s: the log has %+v, %v", name, changes, err)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 && name != "unreadable" {
			t.Errorf("%s: verify finds %v", name, damages)
		}
	}
}
