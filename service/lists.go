package service

import (
	"net/http"
	"slices"
	"strconv"

	"minutebook/api"
	"minutebook/service/mirror"
)

// envelope is the paginated list of 2.1.
type envelope[T any] struct {
	Limit      int     `json:"limit"`
	NextCursor *string `json:"next_cursor"`
	Items      []T     `json:"items"`
}

// listing is a list that is held in memory in its order.
type listing[T any] struct {
	name    string
	filters string
	items   []T
	key     func(T) []string // the item's place in the order
	compare func(a, b T) int
	at      func(key []string) T // an item with that place
}

// writeList answers with the page of a list that the cursor names.
func writeList[T any](s *Service, w http.ResponseWriter, r *http.Request, c caller, l listing[T]) error {
	from := 0
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		var zero T
		key, err := s.cursors.open(cursor, l.name, c.id, l.filters, len(l.key(zero)))
		if err != nil {
			return err
		}
		i, found := slices.BinarySearchFunc(l.items, l.at(key), l.compare)
		if from = i; found {
			from++
		}
	}
	to := min(from+mirror.PageSize, len(l.items))
	e := envelope[T]{Limit: mirror.PageSize, Items: append([]T{}, l.items[from:to]...)}
	if to < len(l.items) {
		next := s.cursors.seal(l.name, c.id, l.filters, l.key(l.items[to-1])...)
		e.NextCursor = &next
	}
	writeJSON(w, http.StatusOK, e)
	return nil
}

// getMeetingTypes is GET /meeting_types (4.2), by name.
func (s *Service) getMeetingTypes(w http.ResponseWriter, r *http.Request, c caller) error {
	return writeList(s, w, r, c, listing[api.MeetingType]{
		name: "meeting_types", items: s.mirror.Directory().Types,
		key:     func(t api.MeetingType) []string { return []string{t.Name} },
		at:      func(key []string) api.MeetingType { return api.MeetingType{Name: key[0]} },
		compare: mirror.CompareTypes,
	})
}

// getTeams is GET /teams (4.7), by name.
func (s *Service) getTeams(w http.ResponseWriter, r *http.Request, c caller) error {
	return writeList(s, w, r, c, listing[api.Team]{
		name: "teams", items: s.mirror.Directory().Teams,
		key:     func(t api.Team) []string { return []string{t.Name} },
		at:      func(key []string) api.Team { return api.Team{Name: key[0]} },
		compare: mirror.CompareTeams,
	})
}

// getTeamMembers is GET /team_members (4.8), by name: those of one team, or of
// all of them. An unknown team has none.
func (s *Service) getTeamMembers(w http.ResponseWriter, r *http.Request, c caller) error {
	q := r.URL.Query()
	return writeList(s, w, r, c, listing[api.TeamMember]{
		name: "team_members", filters: filterKey(q, "team"), items: s.mirror.Directory().Members[q.Get("team")],
		key:     func(m api.TeamMember) []string { return []string{m.Name, m.Email} },
		at:      func(key []string) api.TeamMember { return api.TeamMember{Name: key[0], Email: key[1]} },
		compare: mirror.CompareMembers,
	})
}

// getUsers is GET /users (4.9), for account admins.
func (s *Service) getUsers(w http.ResponseWriter, r *http.Request, c caller) error {
	if p := s.mirror.Person(c.email); p == nil || !p.IsAccountAdmin() {
		return forbidden("only account admins may list users")
	}
	q := r.URL.Query()
	team, status, access := q.Get("team"), q.Get("status"), q.Get("settings_access")
	if !slices.Contains([]string{"", api.StatusActive, api.StatusDeactivated, api.StatusInvited}, status) {
		return badRequest("status must be active, deactivated or invited")
	}
	if !slices.Contains([]string{"", api.SettingsNone, api.SettingsTeamAdmin, api.SettingsAccountAdmin}, access) {
		return badRequest("settings_access must be none, team_admin or account_admin")
	}
	if status == api.StatusInvited && access != "" {
		return badRequest("status invited cannot be combined with settings_access")
	}
	d := s.mirror.Directory()
	var users []api.User
	for _, u := range d.Users {
		level := u.Permissions.Or(api.Permissions{}).SettingsAccess.Level
		if status != "" && u.Status != status || access != "" && level != access ||
			team != "" && !slices.Contains(d.Person(u.Email).Teams, team) {
			continue
		}
		users = append(users, u)
	}
	return writeList(s, w, r, c, listing[api.User]{
		name: "users", filters: filterKey(q, "team", "status", "settings_access"), items: users,
		key: func(u api.User) []string {
			return []string{strconv.Itoa(mirror.StatusRank(u.Status)), u.Name.Or(""), u.Email}
		},
		at:      userAt,
		compare: mirror.CompareUsers,
	})
}

func userAt(key []string) api.User {
	u := api.User{Name: api.Some(key[1]), Email: key[2]}
	for _, status := range []string{api.StatusActive, api.StatusDeactivated, api.StatusInvited} {
		if strconv.Itoa(mirror.StatusRank(status)) == key[0] {
			u.Status = status
		}
	}
	return u
}
