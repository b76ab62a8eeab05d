package archive

import (
	"testing"
	"time"

	"minutebook/api"
)

// TestAccountsOfDifferentOrganisations: accounts of an organisation are shown the same teams and
// meeting types, and those of another have none of them.
func TestAccountsOfDifferentOrganisations(t *testing.T) {
	day := func(n int) api.Time { return api.TimeOf(time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)) }
	sales, sales2, research := api.Team{Name: "Sales", CreatedAt: day(1)}, api.Team{Name: "Sales", CreatedAt: day(2)}, api.Team{Name: "Research", CreatedAt: day(4)}
	weekly, weekly2 := api.MeetingType{Name: "Weekly", CreatedAt: day(1)}, api.MeetingType{Name: "Weekly", CreatedAt: day(2)}
	type lists struct {
		teams []api.Team
		types []api.MeetingType
	}
	for name, c := range map[string]struct {
		ann, bob  lists
		suspended bool
		want      string
	}{
		"the same":                    {lists{[]api.Team{sales, research}, nil}, lists{[]api.Team{sales, research}, nil}, false, ""},
		"one new team":                {lists{[]api.Team{sales}, nil}, lists{[]api.Team{sales, research}, nil}, false, ""},
		"a name of both":              {lists{[]api.Team{sales, research}, nil}, lists{[]api.Team{sales2}, nil}, false, "bob"},
		"a team without a date":       {lists{[]api.Team{sales}, nil}, lists{[]api.Team{{Name: "Sales"}}, nil}, false, ""},
		"a team with another name":    {lists{[]api.Team{sales}, nil}, lists{[]api.Team{{Name: "Trade", CreatedAt: day(1)}}, nil}, false, ""},
		"nothing in common":           {lists{[]api.Team{research}, []api.MeetingType{weekly}}, lists{[]api.Team{sales}, []api.MeetingType{weekly2}}, false, "bob"},
		"refused to bob by now":       {lists{[]api.Team{research}, nil}, lists{[]api.Team{sales}, nil}, true, ""},
		"a type in common":            {lists{[]api.Team{research}, []api.MeetingType{weekly}}, lists{[]api.Team{sales}, []api.MeetingType{weekly}}, false, ""},
		"no list that both are shown": {lists{[]api.Team{research}, nil}, lists{nil, []api.MeetingType{weekly}}, false, ""},
		"none":                        {lists{}, lists{[]api.Team{sales}, nil}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			must(t, a.SetAccounts(t.Context(), []AccountSetting{{Name: "ann", Email: "ann@example.com", Credential: "1", Queries: []string{""}}, {Name: "bob", Email: "bob@example.com", Credential: "2", Queries: []string{""}}}))
			for account, l := range map[string]lists{"ann": c.ann, "bob": c.bob, LocalAccount: {teams: []api.Team{{Name: "Here", CreatedAt: day(3)}}}} {
				must(t, a.PutTeams(t.Context(), account, l.teams))
				must(t, a.PutMeetingTypes(t.Context(), account, l.types))
			}
			must(t, a.SetSuspended(t.Context(), "bob", c.suspended))
			if other, err := a.OtherOrganisation(t.Context(), "ann"); err != nil || other != c.want {
				t.Errorf("%q, %v; want %q", other, err, c.want)
			}
		})
	}
}
