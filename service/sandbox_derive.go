package service

import (
	"context"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/service/mirror"
)

// organisationDeriver derives an organisation from loaded meetings. Users are the
// recorders, and the invitees of domains that the meetings call internal more often than
// external. A user's teams are all that their recorded_by.team has named.
type organisationDeriver struct {
	people map[string]*derivedPerson
	votes  map[string]int // domain: internal showings minus external ones
	types  map[string]time.Time
}

// derivedPerson is a person as the loaded meetings show them.
type derivedPerson struct {
	name  string
	teams map[string]time.Time // with when each was first seen
	first time.Time
}

// loadedMeeting is the part of a meeting from which its shares are derived.
type loadedMeeting struct {
	id         int64
	sharedWith string
	team       string
	invitees   []string
}

func newOrganisationDeriver() *organisationDeriver {
	return &organisationDeriver{people: map[string]*derivedPerson{}, votes: map[string]int{}, types: map[string]time.Time{}}
}

// newLoaded returns the parts of a meeting from which its shares are derived.
func newLoaded(id int64, m *api.Meeting) loadedMeeting {
	loaded := loadedMeeting{id: id, sharedWith: m.SharedWith, team: m.RecordedBy.Team.Or("")}
	for _, i := range m.CalendarInvitees {
		if email := api.FoldEmail(i.Email.Or("")); email != "" {
			loaded.invitees = append(loaded.invitees, email)
		}
	}
	return loaded
}

func (d *organisationDeriver) add(m *api.Meeting) {
	at := m.CreatedAt.Time
	recorder := api.FoldEmail(m.RecordedBy.Email)
	team := m.RecordedBy.Team.Or("")
	own := false
	for _, i := range m.CalendarInvitees {
		email := api.FoldEmail(i.Email.Or(""))
		if email == "" {
			continue
		}
		own = own || email == recorder
		vote := 1
		if i.IsExternal {
			vote = -1
		}
		d.votes[domainOf(email)] += vote
		d.person(email, i.Name.Or(""), "", at)
	}
	if recorder != "" {
		d.person(recorder, m.RecordedBy.Name, team, at)
		if !own {
			d.votes[domainOf(recorder)]++
		}
	}
	if name := m.MeetingType.Or(""); name != "" {
		if first, ok := d.types[name]; !ok || at.Before(first) {
			d.types[name] = at
		}
	}
}

func (d *organisationDeriver) person(email, name, team string, at time.Time) {
	p := d.people[email]
	if p == nil {
		p = &derivedPerson{first: at, teams: map[string]time.Time{}}
		d.people[email] = p
	}
	if p.name == "" {
		p.name = name
	}
	if first, ok := p.teams[team]; team != "" && (!ok || at.Before(first)) {
		p.teams[team] = at
	}
	if at.Before(p.first) {
		p.first = at
	}
}

// putDerived adds the derived organisation to the directory; existing entries stay
// as they are.
func (s *Service) putDerived(ctx context.Context, d *organisationDeriver) error {
	users, err := s.archive.UsersOf(ctx, archive.LocalAccount)
	if err != nil {
		return err
	}
	members, err := s.archive.Memberships(ctx)
	if err != nil {
		return err
	}
	isUser := map[string]bool{}
	for _, u := range users {
		isUser[u.Email] = true
	}
	teams := map[string]time.Time{}
	for _, email := range sortedEmails(d.people) {
		p := d.people[email]
		if d.votes[domainOf(email)] <= 0 {
			continue
		}
		if !isUser[email] {
			users = append(users, mirror.BasicUser(email, p.name, api.TimeOf(p.first)))
		}
		for team, at := range p.teams {
			if slices.Contains(members[email], team) {
				continue
			}
			members[email] = append(members[email], team)
			if first, ok := teams[team]; !ok || at.Before(first) {
				teams[team] = at
			}
		}
	}
	if err := s.archive.PutUsers(ctx, archive.LocalAccount, users); err != nil {
		return err
	}
	if err := s.addTeams(ctx, teams, d.types); err != nil {
		return err
	}
	for team := range teams {
		if err := s.archive.PutTeamMembers(ctx, archive.LocalAccount, team, membersOf(team, members, users)); err != nil {
			return err
		}
	}
	return nil
}

func sortedEmails(people map[string]*derivedPerson) []string {
	emails := make([]string, 0, len(people))
	for email := range people {
		emails = append(emails, email)
	}
	slices.Sort(emails)
	return emails
}

// membersOf lists the users of a team.
func membersOf(team string, teams map[string][]string, users []api.User) []api.TeamMember {
	var members []api.TeamMember
	for _, u := range users {
		if slices.Contains(teams[u.Email], team) {
			members = append(members, api.TeamMember{Name: u.Name.Or(""), Email: u.Email, CreatedAt: u.CreatedAt})
		}
	}
	return members
}

// datedNames gives all names one time.
func datedNames(at time.Time, names ...string) map[string]time.Time {
	m := map[string]time.Time{}
	for _, name := range names {
		m[name] = at
	}
	return m
}

// addTeams adds teams and meeting types to those that are said here.
func (s *Service) addTeams(ctx context.Context, teams, types map[string]time.Time) error {
	haveTeams, err := s.archive.TeamsOf(ctx, archive.LocalAccount)
	if err != nil {
		return err
	}
	for _, t := range haveTeams {
		delete(teams, t.Name)
	}
	for name, at := range teams {
		haveTeams = append(haveTeams, api.Team{Name: name, CreatedAt: api.TimeOf(at)})
	}
	if err := s.archive.PutTeams(ctx, archive.LocalAccount, haveTeams); err != nil {
		return err
	}
	haveTypes, err := s.archive.TypesOf(ctx, archive.LocalAccount)
	if err != nil {
		return err
	}
	for _, t := range haveTypes {
		delete(types, t.Name)
	}
	for name, at := range types {
		haveTypes = append(haveTypes, api.MeetingType{Name: name, Status: api.StatusActive, CreatedAt: api.TimeOf(at)})
	}
	return s.archive.PutMeetingTypes(ctx, archive.LocalAccount, haveTypes)
}
