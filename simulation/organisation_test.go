package simulation

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"minutebook/api"
)

// The organisation, kept without the archive's tables: who is who, each account's
// lists of it, and which accounts there are.

var (
	people    = []string{"ann@a.example", "bob@a.example", "cat@a.example", "dan@a.example", "eve@a.example", "fay@a.example", "gus@a.example"}
	outsiders = []string{"yan@b.example", "zoe@b.example"}
	teams     = []string{"Sales", "Support", "Legal"}
	accounts  = []string{"one", "two", "three"}
)

// user is a person's row in a list of users; level "" is somebody whom no
// list of users names.
type user struct {
	status, level string
	teams         []string // that the level names
}

// listing is the organisation as an account last listed it.
type listing struct {
	rank    int // of the list of users: the greatest was read last
	users   map[string]user
	members map[string][]string // of each team
}

// account is an entry of the configuration.
type account struct {
	email, credential string
	queries           []string
}

func drawUser(t *rapid.T) user {
	u := user{status: rapid.SampledFrom([]string{api.StatusActive, api.StatusActive, api.StatusActive, api.StatusActive, api.StatusDeactivated, api.StatusInvited}).Draw(t, "status")}
	if u.status == api.StatusInvited {
		return u
	}
	u.level = rapid.SampledFrom([]string{"own_meetings", "own_meetings", "team", "multiple_teams", "all_teams"}).Draw(t, "view")
	if u.level == "team" || u.level == "multiple_teams" {
		u.teams = rapid.SliceOfNDistinct(rapid.SampledFrom(teams), 0, 2, rapid.ID).Draw(t, "of")
	}
	return u
}

// hire draws who is in the organisation and in its teams.
func (w *world) hire(t *rapid.T) {
	w.users, w.members = map[string]user{}, map[string][]string{}
	for _, email := range people {
		if rapid.IntRange(0, 5).Draw(t, "listed") > 0 {
			w.users[email] = drawUser(t)
		}
	}
	for _, team := range teams {
		if rapid.IntRange(0, 5).Draw(t, "exists") > 0 {
			w.members[team] = rapid.SliceOfNDistinct(rapid.SampledFrom(people), 0, 3, rapid.ID).Draw(t, "members")
		}
	}
}

// reorganise changes something of the organisation.
func (w *world) reorganise(t *rapid.T) {
	who := rapid.SampledFrom(people).Draw(t, "who")
	team := rapid.SampledFrom(teams).Draw(t, "team")
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		w.users[who] = drawUser(t)
	case 1: // a team is dissolved
		delete(w.members, team)
	case 2: // or is called otherwise
		if _, taken := w.members["Renamed"]; !taken {
			w.members["Renamed"] = w.members[team]
			delete(w.members, team)
		}
	case 3:
		w.members[team] = rapid.SliceOfNDistinct(rapid.SampledFrom(people), 0, 3, rapid.ID).Draw(t, "members")
	}
}

// list puts the organisation as an account lists it now. A row that the account
// listed before and lists no more is on nobody else's list either, but for those
// who were deactivated.
func (w *world) list(name string) {
	previous := w.listings[name]
	w.clock++
	now := &listing{rank: w.clock, users: maps.Clone(w.users), members: map[string][]string{}}
	for team, members := range w.members {
		now.members[team] = slices.Clone(members)
	}
	for other, l := range w.listings {
		if previous == nil || other == name {
			continue
		}
		for email := range previous.users {
			if _, listed := now.users[email]; !listed && l.users[email].status != api.StatusDeactivated {
				delete(l.users, email)
			}
		}
		for team, members := range previous.members {
			if _, listed := now.members[team]; !listed {
				delete(l.members, team)
			}
			for _, email := range members {
				if !slices.Contains(now.members[team], email) {
					l.members[team] = slices.DeleteFunc(l.members[team], func(m string) bool { return m == email })
				}
			}
		}
	}
	w.listings[name] = now
	w.putDirectory(name)
}

// putDirectory hands the archive the lists as the sync does.
func (w *world) putDirectory(name string) {
	a := w.house.archive
	var users []api.User
	for _, email := range slices.Sorted(maps.Keys(w.users)) {
		u := w.users[email]
		entry := api.User{Email: email, Status: u.status}
		if u.status != api.StatusInvited {
			entry.Permissions = api.Some(api.Permissions{SettingsAccess: api.Access{Level: api.SettingsNone}, ViewAccess: api.Access{Level: u.level, Teams: u.teams}})
		}
		users = append(users, entry)
	}
	w.must(a.PutUsers(w.ctx, name, users))
	var list []api.Team
	for _, team := range slices.Sorted(maps.Keys(w.members)) {
		list = append(list, api.Team{Name: team})
	}
	w.must(a.PutTeams(w.ctx, name, list))
	for _, team := range list {
		var members []api.TeamMember
		for _, email := range w.members[team.Name] {
			members = append(members, api.TeamMember{Email: email})
		}
		w.must(a.PutTeamMembers(w.ctx, name, team.Name, members))
	}
}

// userOf returns the directory entry of a person: by the list that was read last, of those
// of the configured accounts; who was deactivated stays so though the account left.
func (w *world) userOf(email string) (found user, ok bool) {
	rank := 0
	for name, l := range w.listings {
		u, listed := l.users[email]
		_, configured := w.accounts[name]
		if listed && l.rank > rank && (configured || u.status == api.StatusDeactivated) {
			found, ok, rank = u, true, l.rank
		}
	}
	return found, ok
}

// teamsOf returns the teams that a person is a member of.
func (w *world) teamsOf(email string) (list []string) {
	for name := range w.accounts {
		if l := w.listings[name]; l != nil {
			for team, members := range l.members {
				if slices.Contains(members, email) && !slices.Contains(list, team) {
					list = append(list, team)
				}
			}
		}
	}
	return list
}

// owns lists the configured accounts of a person.
func (w *world) owns(email string) (names []string) {
	for name, s := range w.accounts {
		if s.email != "" && s.email == email {
			names = append(names, name)
		}
	}
	return names
}

// configure draws the configuration. An account with another address or another
// credential belongs to another holder.
func (w *world) configure(t *rapid.T, name string) {
	if w.last[name].email != "" && rapid.IntRange(0, 2).Draw(t, "leaves") == 0 {
		delete(w.accounts, name)
		return
	}
	queries := rapid.SampledFrom([][]string{{""}, {"", "teams:x"}, {"", "teams:x", "recorded_by:y"}}).Draw(t, "queries")
	if s, ok := w.accounts[name]; ok && rapid.Bool().Draw(t, "only queries") {
		s.queries = queries
		w.accounts[name] = s
		return
	}
	s := account{email: rapid.SampledFrom(append([]string{""}, people[:4]...)).Draw(t, "owner"), credential: fmt.Sprint("key", rapid.IntRange(1, 2).Draw(t, "key")), queries: queries}
	previous := w.last[name]
	if previous.email != "" && s.email != "" && previous.email != s.email || previous.credential != "" && previous.credential != s.credential {
		w.holders[name]++
	}
	w.accounts[name] = s
	w.last[name] = account{email: s.email, credential: s.credential}
	if s.email == "" {
		w.last[name] = account{email: previous.email, credential: s.credential}
	}
}
