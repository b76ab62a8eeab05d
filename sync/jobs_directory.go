package syncer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// refusedRetry is how long a list that the account may not read is left alone.
const refusedRetry = 7 * 24 * time.Hour

// readDirectory reads meeting types, teams, the members of each team and, if
// the account may, users. The archive takes each list whole or not at all.
func (s *Syncer) readDirectory(ctx context.Context, a *account) error {
	return errors.Join(
		s.readList(ctx, a, "meeting types", nil, func() error {
			types, err := collect(func() iter.Seq2[api.MeetingType, error] { return a.Client.MeetingTypes(ctx) })
			if err = errors.Join(err, checkReadable(types, func(t api.MeetingType) string { return t.Name })); err != nil {
				return err
			}
			return s.archive.PutMeetingTypes(ctx, a.Name, types)
		}),
		s.readList(ctx, a, "teams", func() error { return s.archive.EndTeams(ctx, a.Name) }, func() error {
			teams, err := collect(func() iter.Seq2[api.Team, error] { return a.Client.Teams(ctx) })
			if err = errors.Join(err, checkReadable(teams, func(t api.Team) string { return t.Name })); err != nil {
				return err
			}
			members, err := s.readMembers(ctx, a, distinctTeams(teams))
			if err != nil {
				return err
			}
			if members == nil {
				err = s.archive.EndTeamMembers(ctx, a.Name)
			}
			return errors.Join(err, s.archive.PutTeams(ctx, a.Name, teams, members...))
		}),
		s.readList(ctx, a, "users", func() error { return s.archive.EndUsers(ctx, a.Name) }, func() error {
			users, err := collect(func() iter.Seq2[api.User, error] { return a.Client.Users(ctx, api.UserQuery{}) })
			if err != nil {
				return err
			}
			if len(users) == 0 {
				return errors.New("the list is empty, though whoever may read it is on it")
			}
			email := func(u api.User) string { return u.Email }
			if err := checkReadable(users, email); err != nil { // a deactivation does not wait for it
				addressed := slices.DeleteFunc(users, func(u api.User) bool { return strings.TrimSpace(u.Email) == "" })
				return errors.Join(err, s.archive.PutSomeUsers(ctx, a.Name, addressed))
			}
			return s.archive.PutUsers(ctx, a.Name, users)
		}),
	)
}

// readMembers reads the members of each team; nil where the service ignores the filter, and
// lists everybody for every team. Memberships decide who sees which meetings, so such lists
// are not kept.
func (s *Syncer) readMembers(ctx context.Context, a *account, teams []api.Team) ([]archive.TeamMembers, error) {
	found := make([]archive.TeamMembers, len(teams))
	for i, team := range teams {
		members, err := readTeam(ctx, a, team.Name)
		if err != nil {
			return nil, err
		}
		found[i] = archive.TeamMembers{Team: team.Name, Members: members}
	}
	if len(teams) < 2 || !haveSameMembers(found) {
		return found, nil
	}
	nobody, err := readTeam(ctx, a, unknownTeam)
	if rejected := new(api.Error); errors.As(err, &rejected) && rejected.Status/100 == 4 && !api.IsTemporary(err) && !api.IsAccountRefused(err) {
		return found, nil // the service looks at the filter
	}
	if err != nil || !haveSameMembers(append(found[:1:1], archive.TeamMembers{Members: nobody})) {
		return found, err
	}
	s.log.Warn().Str("account", a.Name).Msg("every team has the same members, and so has one that does not exist: the service does not filter them, so none are kept")
	return nil, nil
}

// unknownTeam is a name that no team has. A service that lists members for it lists them
// for every name.
const unknownTeam = "no team has this name"

func readTeam(ctx context.Context, a *account, team string) ([]api.TeamMember, error) {
	members, err := collect(func() iter.Seq2[api.TeamMember, error] { return a.Client.TeamMembers(ctx, team) })
	return members, errors.Join(err, checkReadable(members, func(m api.TeamMember) string { return m.Email }))
}

// distinctTeams removes teams that the list repeats: each costs calls.
func distinctTeams(teams []api.Team) []api.Team {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(teams), func(t api.Team) bool {
		repeated := seen[t.Name]
		seen[t.Name] = true
		return repeated
	})
}

// haveSameMembers reports whether all lists have the same members, at least one.
func haveSameMembers(lists []archive.TeamMembers) bool {
	key := func(l archive.TeamMembers) string {
		var emails []string
		for _, m := range l.Members {
			emails = append(emails, m.Email)
		}
		slices.Sort(emails)
		return strings.Join(emails, "\n")
	}
	for _, l := range lists[1:] {
		if key(l) != key(lists[0]) {
			return false
		}
	}
	return len(lists[0].Members) > 0
}

// readList calls read for one list of the directory, unless the service refused
// the list within the last week. A refusal is remembered and is no failure; end
// then removes the rights that an earlier list gave, since nobody can tell
// whether they still hold.
func (s *Syncer) readList(ctx context.Context, a *account, name string, end, read func() error) error {
	key := a.markKey("sync/refused/" + name)
	at, refused, err := loadMark[time.Time](ctx, s.archive, key)
	if err != nil || refused && distance(at, s.now()) < refusedRetry {
		return err
	}
	err = s.classify(ctx, a, read())
	if api.IsForbidden(err) {
		s.log.Info().Str("account", a.Name).Str("list", name).Msg("the account may not read this list; next try in a week")
		if end != nil {
			if err := end(); err != nil {
				return err
			}
		}
		return s.archive.SetMarks(ctx, newMark(key, s.now()))
	}
	if err != nil {
		return fmt.Errorf("read %s of account %s: %w", name, a.Name, err)
	}
	return nil
}

// collect reads a list to its end. It reads an empty list twice, since an empty
// list takes rights away.
func collect[T any](list func() iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for range 2 {
		for v, err := range list() {
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		if len(out) > 0 {
			break
		}
	}
	return out, nil
}

// checkReadable fails if items of a list have no name. Each may be one that the
// list seems to lack, so such a list takes nothing away.
func checkReadable[T any](list []T, name func(T) string) error {
	n := 0
	for _, item := range list {
		if strings.TrimSpace(name(item)) == "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of its %d items could not be read: everything that it lacks is kept", n, len(list))
}
