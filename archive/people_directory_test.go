package archive

import (
	"slices"
	"testing"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// A row of a list has none of the three statuses (specification 2.6), as answers of the service
// lack members: the user keeps the status that the lists had. A whole list and a part of one do
// the same.
func TestARowWithoutAStatusKeepsTheOneThatWasListed(t *testing.T) {
	testrun.SkipUnderRace(t)
	const kim = "kim@acme.example"
	for name, c := range map[string]struct {
		listed []string // by the lists before, of anna and boss in turn
		want   string
	}{
		"active":                        {[]string{api.StatusActive}, api.StatusActive},
		"deactivated":                   {[]string{api.StatusDeactivated}, api.StatusDeactivated},
		"invited":                       {[]string{api.StatusInvited}, api.StatusInvited},
		"never listed":                  {nil, api.StatusActive},
		"active in the newest list":     {[]string{api.StatusDeactivated, api.StatusActive}, api.StatusActive},
		"deactivated in the newest one": {[]string{api.StatusActive, api.StatusDeactivated}, api.StatusDeactivated},
		"lacking in the newest one":     {[]string{api.StatusDeactivated, ""}, api.StatusDeactivated},
	} {
		for lacking, status := range map[string]string{"none": "", "an unknown one": "paused"} {
			for list, put := range map[string]func(*Archive) error{
				"whole list": func(a *Archive) error { return a.PutUsers(t.Context(), "anna", statuses(kim, status)) },
				"part":       func(a *Archive) error { return a.PutSomeUsers(t.Context(), "anna", statuses(kim, status)) },
			} {
				t.Run(name+"/"+lacking+"/"+list, func(t *testing.T) {
					t.Parallel()
					a := newArchive(t)
					apply(t, a, listedMeeting(t, "anna", "", 0, 1, kim, "", api.SharedNoTeams), listedMeeting(t, "anna", "", 0, 2, "bob@acme.example", "", api.SharedAllTeams))
					for i, before := range c.listed {
						must(t, a.PutUsers(t.Context(), []string{"anna", "boss"}[i], statuses(kim, before)))
					}
					must(t, put(a))
					if u, err := a.User(t.Context(), kim); err != nil || u.Status != c.want {
						t.Errorf("kim is %+v, %v; want %s", u, err, c.want)
					}
					if out, err := a.IsDeactivated(t.Context(), []string{kim}); err != nil || out != (c.want == api.StatusDeactivated) {
						t.Errorf("kim is out: %t, %v", out, err)
					}
					want := map[string][]int64{api.StatusActive: {1, 2}, api.StatusInvited: {1}}[c.want]
					if got := listedTo(t, a, kim); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
						t.Errorf("kim sees %v, want %v", got, want)
					}
				})
			}
		}
	}
}

// A list names an address twice: the user who has it now, and one who had it before. The service
// lists active users first (specification 4.9).
func TestAnAddressOfSeveralUsersIsTheActiveOnes(t *testing.T) {
	for name, c := range map[string]struct {
		listed []string
		want   string
	}{
		"active first":                {[]string{api.StatusActive, api.StatusDeactivated, api.StatusInvited}, api.StatusActive},
		"active last":                 {[]string{api.StatusInvited, api.StatusDeactivated, api.StatusActive}, api.StatusActive},
		"none is active":              {[]string{api.StatusDeactivated, api.StatusInvited}, api.StatusDeactivated},
		"the first lacks its status":  {[]string{"", api.StatusDeactivated}, api.StatusActive},
		"an active one after lacking": {[]string{"", api.StatusActive}, api.StatusActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			var users []api.User
			for i, status := range c.listed {
				users = append(users, userWithView([]string{"kim@acme.example", "Kim@acme.example "}[i%2], status))
			}
			must(t, a.PutUsers(t.Context(), "anna", users))
			if listed, err := a.Users(t.Context()); err != nil || len(listed) != 1 || listed[0].Status != c.want {
				t.Errorf("users are %+v, %v; want one who is %s", listed, err, c.want)
			}
		})
	}
}

// Permissions lack the level of settings_access, or that of view_access: the other one counts.
func TestPermissionsWithoutALevelGiveTheOther(t *testing.T) {
	const boss = "boss@acme.example"
	for name, c := range map[string]struct {
		given api.Permissions
		want  []int64
	}{
		"view_access alone":     {api.Permissions{ViewAccess: api.Access{Level: api.ViewAllTeams}}, []int64{1, 2}},
		"of a team":             {api.Permissions{ViewAccess: api.Access{Level: api.ViewTeam, Teams: []string{"Sales"}}}, []int64{2}},
		"settings_access alone": {api.Permissions{SettingsAccess: api.Access{Level: api.SettingsAccountAdmin}}, nil},
	} {
		a := newArchive(t)
		must(t, a.PutUsers(t.Context(), "anna", []api.User{{Email: boss, Status: api.StatusActive, Permissions: api.Some(c.given)}}))
		apply(t, a, listedMeeting(t, "anna", "", 0, 1, "kim@acme.example", "", api.SharedMultipleTeams), listedMeeting(t, "anna", "", 0, 2, "kim@acme.example", "Sales", api.SharedSingleTeam))
		if got := listedTo(t, a, boss); !slices.Equal(slices.Sorted(slices.Values(got)), c.want) {
			t.Errorf("%s: boss sees %v, want %v", name, got, c.want)
		}
		u, err := a.User(t.Context(), boss)
		if p, ok := u.Permissions.Get(); err != nil || !ok || p.ViewAccess.Level != c.given.ViewAccess.Level || p.SettingsAccess.Level != c.given.SettingsAccess.Level {
			t.Errorf("%s: boss is %+v, %v", name, u, err)
		}
	}
}

// TestARowWithoutPermissionsKeepsTheOnesThatWereListed reads a row of an active user that lacks
// permissions, which all active users have (specification 2.6): it says nothing of them.
func TestARowWithoutPermissionsKeepsTheOnesThatWereListed(t *testing.T) {
	testrun.SkipUnderRace(t)
	const boss, lacking = "boss@acme.example", "lacking"
	row := func(status, level string) []api.User {
		u := api.User{Email: boss, Status: status}
		if level != lacking {
			u.Permissions = api.Some(api.Permissions{SettingsAccess: api.Access{Level: api.SettingsNone}, ViewAccess: api.Access{Level: level}})
		}
		return []api.User{u}
	}
	for name, c := range map[string]struct {
		before, account, status, level string
		want                           bool // boss sees meetings that are shared with several teams
	}{
		"by the same account":     {api.StatusActive, "anna", api.StatusActive, lacking, true},
		"by another account":      {api.StatusActive, "bob", api.StatusActive, lacking, true},
		"the level alone":         {api.StatusActive, "bob", api.StatusActive, "", true},
		"the status too":          {api.StatusActive, "bob", "", lacking, true},
		"an unknown level":        {api.StatusActive, "anna", api.StatusActive, "some", false},
		"fewer rights":            {api.StatusActive, "bob", api.StatusActive, api.ViewOwnMeetings, false},
		"invited anew":            {api.StatusActive, "bob", api.StatusInvited, lacking, false},
		"deactivated before":      {api.StatusDeactivated, "anna", api.StatusActive, lacking, false},
		"this program's own list": {api.StatusActive, LocalAccount, api.StatusActive, lacking, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			apply(t, a, listedMeeting(t, "anna", "", 0, 1, "kim@acme.example", "", api.SharedMultipleTeams))
			must(t, a.PutUsers(t.Context(), "anna", row(c.before, api.ViewAllTeams)))
			must(t, a.PutUsers(t.Context(), c.account, row(c.status, c.level)))
			if got := listedTo(t, a, boss); slices.Contains(got, 1) != c.want {
				t.Errorf("boss sees %v; want it shared: %t", got, c.want)
			}
		})
	}
}
