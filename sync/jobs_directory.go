package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"minutebook/api"
	"minutebook/archive"
)

// refusedRetry is how long a list that the account may not read is left alone.
const refusedRetry = 7 * 24 * time.Hour

// listPatience is how long an account waits for another one that reads the same list of the
// directory.
const listPatience = time.Hour

// readDirectory reads users, if the account may, meeting types, teams and the members of each
// team. The archive takes each list whole or not at all. Once the service
// refuses the account nothing more is read: its answers then say nothing of a list.
func (s *Syncer) readDirectory(ctx context.Context, a *account) error {
	all, _ := s.accounts.all()
	for _, other := range all { // a kill may have come between an account's mark and this record
		if err := s.archive.SetSuspended(ctx, other.Name, other.suspension() != nil); err != nil {
			return err
		}
	}
	var failed []error
	for _, list := range s.directoryLists() {
		err := s.readList(ctx, a, list)
		failed = append(failed, err)
		if errors.Is(err, errSuspended) {
			break
		}
	}
	failed = append(failed, s.askRefusedAgain(ctx))
	other, err := s.archive.OtherOrganisation(ctx, a.Name)
	if other != "" {
		s.log.Warn().Strs("accounts", []string{a.Name, other}).Msg("two accounts belong to different organisations of the service: what each shares with all is shown to the people of the other; give each an archive of its own")
	}
	return errors.Join(append(failed, err)...)
}

// knownRights is a digest of the rights that an account had when recordings that are refused to it
// were last asked for again. It is a mark.
type knownRights struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// askRefusedAgain has recordings that are refused to an account asked for again where the directory
// says something else of its person than before: a limited share is not all by which the person
// sees a meeting now, perhaps. It does so once in refusedRetry at most, since lists may disagree for ever.
func (s *Syncer) askRefusedAgain(ctx context.Context) error {
	all, _ := s.accounts.all()
	for _, a := range all {
		key := a.markKey("sync/rights")
		known, ok, err := loadMark[knownRights](ctx, s.archive, key)
		if err != nil {
			return err
		}
		now := knownRights{At: s.now()}
		if now.Digest, err = s.archive.RightsDigest(ctx, a.Name); err != nil {
			return err
		}
		if ok && (known.Digest == now.Digest || !hasPassed(known.At, now.At, refusedRetry)) {
			continue
		}
		if err := s.archive.EndRefusals(ctx, a.Name, newMark(key, now)); err != nil {
			return err
		}
	}
	s.wantDownloads(ctx)
	return nil
}

// directoryList is a list of the directory. end, where it is set, removes the rights that an
// account has from the list, and reports whether there were any.
type directoryList struct {
	name string
	read func(context.Context, *account) error
	end  func(ctx context.Context, account string) (bool, error)
}

func (s *Syncer) directoryLists() []directoryList {
	return []directoryList{
		{name: "users", read: s.readUsers, end: s.archive.EndUsers}, // first: it tells who may see nothing more
		{name: "meeting types", read: s.readMeetingTypes},
		{name: "teams", read: s.readTeams, end: s.archive.EndTeams},
	}
}

// readAlone reads a list while no other account does: the archive takes the list that it is given
// last for the newest one, and a long list is given long after its reading began. An account that
// the service keeps waiting keeps the others for listPatience at most.
func (s *Syncer) readAlone(ctx context.Context, a *account, list directoryList) error {
	reading, _ := s.readingLists.LoadOrStore(list.name, semaphore.NewWeighted(1))
	alone := reading.(*semaphore.Weighted)
	patience, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	if err := alone.Acquire(patience, 1); err == nil {
		defer alone.Release(1)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return list.read(ctx, a)
}

func (s *Syncer) readMeetingTypes(ctx context.Context, a *account) error {
	types, err := collect(func() iter.Seq2[api.MeetingType, error] { return a.Client.MeetingTypes(ctx) })
	if err = errors.Join(err, checkReadable(types, func(t api.MeetingType) string { return t.Name })); err != nil {
		return err
	}
	return s.archive.PutMeetingTypes(ctx, a.Name, types)
}

func (s *Syncer) readTeams(ctx context.Context, a *account) error {
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
}

func (s *Syncer) readUsers(ctx context.Context, a *account) error {
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
}

// readMembers reads the members of each team; nil where the service ignores the filter, and
// lists everybody for every team. Memberships decide who sees which meetings, so such lists
// are not kept.
func (s *Syncer) readMembers(ctx context.Context, a *account, teams []api.Team) ([]archive.TeamMembers, error) {
	found := make([]archive.TeamMembers, len(teams))
	for i, team := range teams {
		members, err := collect(func() iter.Seq2[api.TeamMember, error] { return a.Client.TeamMembers(ctx, team.Name) })
		if err = errors.Join(err, checkReadable(members, memberEmail)); err != nil {
			return nil, err
		}
		found[i] = archive.TeamMembers{Team: team.Name, Members: members}
	}
	if len(teams) == 0 {
		return found, nil
	}
	ignored, err := ignoresTeam(ctx, a)
	if err != nil || !ignored {
		return found, err
	}
	s.log.Warn().Str("account", a.Name).Msg("a team that does not exist has members: the service does not filter them by team, so none are kept")
	return nil, nil
}

func memberEmail(m api.TeamMember) string { return m.Email }

// unknownTeam is a name that no team has. A service that lists members for it lists them
// for every name.
const unknownTeam = "no team has this name"

// ignoresTeam reports whether the service lists members of a team that does not exist.
func ignoresTeam(ctx context.Context, a *account) (bool, error) {
	for member, err := range a.Client.TeamMembers(ctx, unknownTeam) {
		if api.IsRefused(err) && !api.IsAccountRefused(err) {
			return false, nil // the service looks at the name
		}
		return true, cmp.Or(err, checkReadable([]api.TeamMember{member}, memberEmail))
	}
	return false, nil
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

// readList reads one list of the directory, unless the service refused the list within the
// last week to the account's present holder. A refusal is no failure; the rights that an earlier
// list gave then end, since nobody can tell whether they still hold. One that ended none is
// remembered. A refusal is believed when the service accepts the account after it.
func (s *Syncer) readList(ctx context.Context, a *account, list directoryList) error {
	key := a.refusedKey(list.name)
	at, refused, err := loadMark[time.Time](ctx, s.archive, key)
	if err != nil {
		return err
	}
	if refused && !hasPassed(at, s.now(), refusedRetry) {
		if isOther, err := s.isOfEarlierHolder(ctx, a, at); err != nil || !isOther {
			return err
		}
	}
	err = s.classify(ctx, a, s.readAlone(ctx, a, list))
	if api.IsForbidden(err) && !errors.Is(err, errSuspended) {
		if err := s.classify(ctx, a, a.Client.Check(ctx)); err != nil {
			return fmt.Errorf("find out whether %s of account %s or the account is refused: %w", list.name, a.Name, err)
		}
		ended := false
		if list.end != nil {
			if ended, err = list.end(ctx, a.Name); err != nil {
				return err
			}
		}
		if ended { // perhaps by mistake: ask again the next night
			s.log.Warn().Str("account", a.Name).Str("list", list.name).Msg("the account may not read this list any more, and what it showed has ended; next try with the next reading")
			return nil
		}
		s.log.Info().Str("account", a.Name).Str("list", list.name).Msg("the account may not read this list; next try in a week")
		return s.archive.SetMarks(ctx, newMark(key, s.now()))
	}
	if err != nil {
		return fmt.Errorf("read %s of account %s: %w", list.name, a.Name, err)
	}
	return nil
}

// refusedKey is the key of the mark of a list that the service refused the account.
func (a *account) refusedKey(list string) string { return a.markKey("sync/refused/" + list) }

// forgetRefusedLists has the lists asked for again that the service refused the account.
func (s *Syncer) forgetRefusedLists(ctx context.Context, a *account) error {
	var marks []archive.Mark
	for _, list := range s.directoryLists() {
		marks = append(marks, archive.Mark{Key: a.refusedKey(list.name)})
	}
	return s.archive.SetMarks(ctx, marks...)
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
