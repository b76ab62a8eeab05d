package archive

import (
	"errors"
	"slices"
	"testing"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// TestTheNewestReadEndsWhatOlderListsShow has kim and lee in lists of anna, which
// is not read any more, and of boss, whose next list lacks something of it.
func TestTheNewestReadEndsWhatOlderListsShow(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const kim, lee = "kim@acme.example", "lee@acme.example"
	teams := func(names ...string) (list []api.Team) {
		for _, name := range names {
			list = append(list, api.Team{Name: name})
		}
		return list
	}
	active := func(emails ...string) (list []api.User) {
		for _, email := range emails {
			list = append(list, userWithView(email, api.StatusActive))
		}
		return list
	}
	type step func(*Archive) error
	putTeams := func(account string, names ...string) step {
		return func(a *Archive) error { return a.PutTeams(t.Context(), account, teams(names...)) }
	}
	putMembers := func(account, team string, emails ...string) step {
		return func(a *Archive) error {
			return a.PutTeamMembers(t.Context(), account, team, membersList(emails...))
		}
	}
	putUsers := func(account string, emails ...string) step {
		return func(a *Archive) error { return a.PutUsers(t.Context(), account, active(emails...)) }
	}
	suspend := func(account string, suspended bool) step {
		return func(a *Archive) error { return a.SetSuspended(t.Context(), account, suspended) }
	}
	person := func(account, email string) step {
		return func(a *Archive) error { return a.PutAccountPerson(t.Context(), account, email) }
	}
	// kim's rights at first, and those without a team and without being a user.
	all := []string{PrincipalEveryone, PrincipalShared, "team:Old", UserPrincipal(kim)}
	noTeam := []string{PrincipalEveryone, PrincipalShared, UserPrincipal(kim)}
	noUser := []string{PrincipalEveryone, "team:Old", UserPrincipal(kim)}
	for name, c := range map[string]struct {
		do   []step
		want []string
	}{
		"nothing":                    {nil, all},
		"the same again":             {[]step{putTeams("boss", "Old", "Two"), putMembers("boss", "Old", kim, lee), putUsers("boss", kim, lee)}, all},
		"team dissolved":             {[]step{putTeams("boss", "Two")}, noTeam},
		"all teams dissolved":        {[]step{putTeams("boss")}, noTeam},
		"team renamed":               {[]step{putTeams("boss", "New", "Two"), putMembers("boss", "New", kim)}, []string{PrincipalEveryone, PrincipalShared, "team:New", UserPrincipal(kim)}},
		"and anna read later":        {[]step{putTeams("boss", "Two"), putTeams("anna", "Old"), putMembers("anna", "Old", kim)}, all},
		"no member boss showed":      {[]step{putMembers("boss", "Old", lee), putMembers("anna", "Old", kim), putMembers("boss", "Old", lee), putTeams("boss", "Two")}, noTeam},
		"member left":                {[]step{putMembers("boss", "Old", lee)}, noTeam},
		"member left, anna later":    {[]step{putMembers("boss", "Old", lee), putMembers("anna", "Old", kim, lee)}, all},
		"another member left":        {[]step{putMembers("boss", "Old", kim)}, all},
		"user omitted":               {[]step{putUsers("boss", lee)}, noUser},
		"user omitted, anna later":   {[]step{putUsers("boss", lee), putUsers("anna", kim)}, all},
		"another user omitted":       {[]step{putUsers("boss", kim)}, all},
		"all at once":                {[]step{putUsers("boss", lee), putTeams("boss", "Two")}, []string{UserPrincipal(kim)}},
		"a list that lacks some":     {[]step{func(a *Archive) error { return a.PutSomeUsers(t.Context(), "boss", active(lee)) }}, all},
		"users refused":              {[]step{func(a *Archive) error { return second(a.EndUsers(t.Context(), "boss")) }}, all},
		"teams refused":              {[]step{func(a *Archive) error { return second(a.EndTeams(t.Context(), "boss")) }}, all},
		"members not to be believed": {[]step{func(a *Archive) error { return a.EndTeamMembers(t.Context(), "boss") }}, all},
		"one that never listed kim":  {[]step{putTeams("zed", "Two"), putMembers("zed", "Two", lee), putUsers("zed", lee), putTeams("zed"), putUsers("zed")}, all},
		"never listed, members of a suspended account":       {[]step{putMembers("boss", "Old", lee), putMembers("anna", "Old", kim, lee), suspend("anna", true), putTeams("boss", "Two", "Old"), putMembers("boss", "Old", lee)}, noTeam},
		"never listed, users of a suspended account":         {[]step{putUsers("boss", lee), putUsers("anna", kim, lee), suspend("anna", true), putUsers("boss", lee)}, noUser},
		"never listed, of an account that is accepted again": {[]step{putMembers("boss", "Old", lee), putMembers("anna", "Old", kim, lee), suspend("anna", true), suspend("anna", false), putMembers("boss", "Old", lee)}, all},
		"another team's members":                             {[]step{suspend("anna", true), putMembers("boss", "Two", lee)}, all},
		"a team that is still shown to boss":                 {[]step{suspend("anna", true), putTeams("zed", "Two"), putMembers("zed", "Two", lee)}, all},
		"a team that only suspended accounts showed":         {[]step{suspend("anna", true), suspend("boss", true), putTeams("zed", "Two")}, noTeam},
		"a user whom only suspended accounts showed":         {[]step{suspend("anna", true), suspend("boss", true), putUsers("zed", lee)}, noUser},
		"members of suspended accounts, not to be believed":  {[]step{suspend("anna", true), func(a *Archive) error { return a.EndTeamMembers(t.Context(), "boss") }}, noTeam},
		"and said here":       {[]step{suspend("anna", true), suspend("boss", true), putTeams(LocalAccount), putUsers(LocalAccount, lee)}, all},
		"removed":             {[]step{person("anna", kim), suspend("anna", true), putUsers("boss", lee)}, nil},
		"removed, and parked": {[]step{person("anna", kim), suspend("anna", true), putUsers("boss", lee), person("anna", ""), putUsers("boss", lee), putUsers("boss", lee)}, nil},
		"deactivated, then removed": {[]step{func(a *Archive) error {
			return a.PutUsers(t.Context(), "boss", []api.User{userWithView(kim, api.StatusDeactivated)})
		}, putUsers("boss", lee), putUsers("boss", lee)}, nil},
		"removed, and the next night": {[]step{person("anna", kim), suspend("anna", true), putUsers("boss", lee), putUsers("boss", lee)}, nil},
		"never a user":                {[]step{putUsers("anna", lee), putUsers("boss", lee), person("anna", kim), suspend("anna", true), putUsers("boss", lee)}, []string{"account:anna", PrincipalEveryone, "team:Old", UserPrincipal(kim)}},
		"removed, and read again":     {[]step{person("anna", kim), suspend("anna", true), putUsers("boss", lee), suspend("anna", false), putUsers("boss", lee)}, []string{"account:anna", PrincipalEveryone, "team:Old", UserPrincipal(kim)}},
		"refused, and a user still":   {[]step{person("anna", kim), suspend("anna", true), putUsers("boss", kim)}, append([]string{"account:anna"}, all...)},
		"what is said here":           {[]step{putUsers(LocalAccount, kim), putMembers(LocalAccount, "Old", kim), putTeams("boss", "Two"), putUsers("boss", lee)}, all},
		"what ends here":              {[]step{putUsers(LocalAccount, kim), putTeams(LocalAccount, "Old"), putUsers(LocalAccount), putTeams(LocalAccount)}, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			do := func(steps ...step) {
				t.Helper()
				for _, s := range steps {
					if err := s(a); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, account := range []string{"anna", "boss"} {
				do(putTeams(account, "Old", "Two"), putMembers(account, "Old", kim, lee), putUsers(account, kim, lee))
			}
			do(c.do...)
			got, err := a.ViewerPrincipals(t.Context(), ViewerWith(kim))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("kim is %v, want %v", got, c.want)
			}
		})
	}
}

func second(_ bool, err error) error { return err }

// TestWhoIsWithdrawnIsJudgedAnew has a meeting that is shared with all teams by a
// recorder who is known by lists alone, and a user deactivated by an older list.
func TestWhoIsWithdrawnIsJudgedAnew(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	ctx := t.Context()
	const kim, bob = "kim@acme.example", "bob@acme.example"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []string{"anna", "boss"} {
		must(a.PutTeams(ctx, account, []api.Team{{Name: "Old"}, {Name: "Two"}}))
	}
	must(a.PutTeamMembers(ctx, "anna", "Old", membersList(kim))) // boss showed the team and not its members
	must(a.PutTeamMembers(ctx, LocalAccount, "Two", membersList(bob)))
	apply(t, a, listedMeeting(t, "anna", "recorded_by:x", 0, 1, kim, "Old", api.SharedAllTeams))
	if got := listedTo(t, a, bob); !slices.Equal(got, []int64{1}) {
		t.Errorf("while kim is known bob sees %v", got)
	}
	logged := func(team string) (kinds []ChangeKind) {
		t.Helper()
		head, err := a.Head(ctx)
		must(err)
		must(a.PutTeams(ctx, "boss", []api.Team{{Name: team}}))
		changes, err := a.Changes(ctx, head, 100)
		must(err)
		for _, c := range changes {
			kinds = append(kinds, c.Kind)
		}
		slices.Sort(kinds)
		return kinds
	}
	if got := logged("Two"); !slices.Equal(got, []ChangeKind{ChangeDirectory, ChangeVisibility}) {
		t.Errorf("logged %v, want the directory and the meeting's visibility once", got)
	}
	if got := listedTo(t, a, bob); got != nil {
		t.Errorf("with kim's team dissolved bob sees %v", got)
	}
	if got := logged("Two"); got != nil {
		t.Errorf("the same list again logged %v", got)
	}

	must(a.PutUsers(ctx, "anna", []api.User{userWithView(bob, api.StatusDeactivated)}))
	must(a.PutUsers(ctx, "boss", []api.User{userWithView(bob, api.StatusDeactivated)}))
	must(a.PutUsers(ctx, "boss", []api.User{userWithView(kim, api.StatusActive)}))
	principals, err := a.ViewerPrincipals(ctx, ViewerWith(bob))
	must(err)
	if slices.Contains(principals, PrincipalEveryone) {
		t.Errorf("a deactivated user, not on a later list, has %v", principals)
	}
}

// TestAKeyThatWorksIsNobodysDeactivated has kim deactivated by a list of boss, which is
// read no more, while kim's own key lists meetings: the service refuses the keys of
// deactivated users.
func TestAKeyThatWorksIsNobodysDeactivated(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const kim = "kim@acme.example"
	own := AccountSetting{Name: "kim", Email: kim, Credential: "k", Queries: []string{""}}
	for name, c := range map[string]struct {
		status string
		before func(*Archive) error // before the walk begins
		during func(*Archive) error
		oauth  bool
		want   bool // kim sees the meeting that the account lists
	}{
		"deactivated":           {status: api.StatusDeactivated, want: true},
		"invited":               {status: api.StatusInvited, want: true},
		"by an OAuth token":     {status: api.StatusDeactivated, oauth: true},
		"by a list of the walk": {status: api.StatusDeactivated, during: func(a *Archive) error { return a.PutUsers(t.Context(), "boss", statuses(kim, api.StatusDeactivated)) }},
		"by a part of a list of the walk": {status: api.StatusDeactivated,
			during: func(a *Archive) error {
				return a.PutSomeUsers(t.Context(), "boss", statuses(kim, api.StatusDeactivated))
			}},
		"by what is said here": {status: api.StatusDeactivated,
			before: func(a *Archive) error {
				return a.PutUsers(t.Context(), LocalAccount, statuses(kim, api.StatusDeactivated))
			}},
		"with a key that was exchanged": {status: api.StatusDeactivated, during: func(a *Archive) error {
			other := own
			other.Credential = "other"
			return a.SetAccounts(t.Context(), []AccountSetting{other})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			do := func(step func(*Archive) error) {
				t.Helper()
				if step != nil {
					must(step(a))
				}
			}
			must(a.SetAccounts(t.Context(), []AccountSetting{own}))
			must(a.PutUsers(t.Context(), "anna", statuses(kim, api.StatusActive))) // with more rights, once
			must(a.PutUsers(t.Context(), "boss", statuses(kim, c.status)))
			do(c.before)
			w, err := a.BeginWalk(t.Context(), "kim", "")
			must(err)
			o := listedMeeting(t, "kim", "", 0, 1, "bob@acme.example", "", api.SharedNoTeams)
			o.Walk = w.Number
			apply(t, a, o)
			apply(t, a, listedMeeting(t, "bob", "", 0, 2, "bob@acme.example", "", api.SharedAllTeams))
			do(c.during)
			w.ByKey = !c.oauth
			_, err = a.CompleteWalk(t.Context(), w)
			must(err)
			if got := listedTo(t, a, kim); slices.Contains(got, 1) != c.want {
				t.Errorf("kim sees %v", got)
			} else if slices.Contains(got, 2) {
				t.Errorf("kim sees %v, with the rights of an earlier list", got)
			}
			if out, err := a.IsDeactivated(t.Context(), []string{kim}); err != nil || out == c.want {
				t.Errorf("kim is deactivated %v, %v", out, err)
			}
		})
	}
}

// statuses is a list of one user.
func statuses(email, status string) []api.User { return []api.User{userWithView(email, status)} }

// TestAPartOfAListIsTheNewestReading reads kim in a list that may lack users, after two
// whole lists: its row of kim counts, whichever account read it, and the older rows of
// others stay.
func TestAPartOfAListIsTheNewestReading(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const kim, lee = "kim@acme.example", "lee@acme.example"
	user := func(email, status, settings, view string, teams ...string) api.User {
		return api.User{Email: email, Status: status, Permissions: api.Some(api.Permissions{
			SettingsAccess: api.Access{Level: settings}, ViewAccess: api.Access{Level: view, Teams: teams}})}
	}
	before, other := user(kim, api.StatusActive, api.SettingsAccountAdmin, api.ViewAllTeams), user(lee, api.StatusActive, api.SettingsNone, api.ViewOwnMeetings)
	rights := func(u api.User) string {
		p, _ := u.Permissions.Get()
		return p.SettingsAccess.Level + " " + p.ViewAccess.Level
	}
	for name, now := range map[string]api.User{
		"deactivated":      user(kim, api.StatusDeactivated, api.SettingsNone, api.ViewOwnMeetings),
		"no admin, a team": user(kim, api.StatusActive, api.SettingsNone, api.ViewTeam, "Sales"),
	} {
		for _, reads := range []string{"anna", "boss"} {
			a := newArchive(t)
			for _, account := range []string{"anna", "boss"} {
				if err := a.PutUsers(t.Context(), account, []api.User{before, other}); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.PutSomeUsers(t.Context(), reads, []api.User{now}); err != nil {
				t.Fatal(err)
			}
			check := func(want api.User) {
				t.Helper()
				got, err := a.User(t.Context(), want.Email)
				if err != nil || got.Status != want.Status || rights(*got) != rights(want) {
					t.Errorf("%s by %s: %+v, %v, want %+v", name, reads, got, err, want)
				}
			}
			check(now)
			check(other)
			if out, err := a.IsDeactivated(t.Context(), []string{kim}); err != nil || out != (now.Status == api.StatusDeactivated) {
				t.Errorf("%s by %s: kim is deactivated %v, %v", name, reads, out, err)
			}
			// the other account's next list is newer again
			if err := a.PutUsers(t.Context(), map[string]string{"anna": "boss", "boss": "anna"}[reads], []api.User{before, other}); err != nil {
				t.Fatal(err)
			}
			check(before)
			if err := a.PutSomeUsers(t.Context(), reads, []api.User{now}); err != nil {
				t.Fatal(err)
			}
			if err := a.PutUsers(t.Context(), map[string]string{"anna": "boss", "boss": "anna"}[reads], []api.User{other}); err != nil {
				t.Fatal(err)
			}
			if got, err := a.User(t.Context(), kim); now.Status == api.StatusActive && !errors.Is(err, ErrNotFound) || now.Status != api.StatusActive && err != nil {
				t.Errorf("%s by %s: withdrawn by the other, kim is %+v, %v", name, reads, got, err)
			}
		}
	}
}

// TestWhoMayNotReadUsersIsNoAdmin has kim, who was an admin when an account that is read no
// more listed the users, and whose own account is refused the list now.
func TestWhoMayNotReadUsersIsNoAdmin(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	ctx := t.Context()
	const kim, lee = "kim@acme.example", "lee@acme.example"
	admin := func(email string) api.User {
		u := userWithView(email, api.StatusActive)
		u.Permissions = api.Some(api.Permissions{SettingsAccess: api.Access{Level: api.SettingsAccountAdmin}, ViewAccess: api.Access{Level: api.ViewAllTeams}})
		return u
	}
	for _, err := range []error{
		a.PutAccountPerson(ctx, "kim", kim),
		a.PutUsers(ctx, "boss", []api.User{admin(kim), admin(lee)}),
		second(a.EndUsers(ctx, "kim")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for email, isAdmin := range map[string]bool{kim: false, lee: true} {
		got, err := a.ViewerPrincipals(ctx, ViewerWith(email))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(got, PrincipalEveryone) || slices.Contains(got, PrincipalShared) != isAdmin {
			t.Errorf("%s is %v", email, got)
		}
	}
	if err := a.PutUsers(ctx, "boss", []api.User{admin(kim)}); err != nil {
		t.Fatal(err)
	}
	if got, err := a.ViewerPrincipals(ctx, ViewerWith(kim)); err != nil || !slices.Contains(got, PrincipalShared) {
		t.Errorf("after a later list kim is %v: %v", got, err)
	}
}
