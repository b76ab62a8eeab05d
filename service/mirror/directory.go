package mirror

import (
	"cmp"
	"context"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// Directory is the organisation as the archive knew it at one moment. It is never
// changed, only replaced; its lists are in the order of the interface.
type Directory struct {
	Users   []api.User
	Types   []api.MeetingType
	Teams   []api.Team
	Members map[string][]api.TeamMember // by team; "" holds the members of all
	people  map[string]*Person          // by address
}

// Person is somebody who can have credentials.
type Person struct {
	User       api.User
	Teams      []string
	principals []string
}

// IsActive reports whether the person may use credentials.
func (p *Person) IsActive() bool { return p.User.Status == api.StatusActive }

// IsAccountAdmin reports whether the person may list users (4.9).
func (p *Person) IsAccountAdmin() bool {
	return p.User.Permissions.Or(api.Permissions{}).SettingsAccess.Level == api.SettingsAccountAdmin
}

func newDirectory() *Directory {
	return &Directory{people: map[string]*Person{}, Members: map[string][]api.TeamMember{}}
}

// Person returns the person with an address, nil when the directory has none.
func (d *Directory) Person(email string) *Person { return d.people[email] }

// Directory returns the directory of the last Refresh.
func (m *Mirror) Directory() *Directory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.dir
}

// Person returns the person with an address, nil when nobody is known by it.
// Where nobody is listed, a recorder of the organisation is known; where nobody is
// known at all, every recorder is, since nothing tells who is outside.
func (m *Mirror) Person(email string) *Person {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if p := m.dir.people[email]; p != nil {
		return p
	}
	recorder, recorded := m.symbols.ids[email]
	if !recorded || len(m.dir.Users) > 0 {
		return nil
	}
	noneInside := len(m.dir.people) == 0 && !slices.ContainsFunc(m.meetings, func(e meeting) bool { return !e.outside })
	for _, e := range m.meetings {
		if e.recorder == recorder && (!e.outside || noneInside) {
			return &Person{User: BasicUser(email, "", api.Time{}), principals: []string{archive.UserPrincipal(email)}}
		}
	}
	return nil
}

// IsActive reports whether a person is known and may use credentials.
func (m *Mirror) IsActive(email string) bool {
	p := m.Person(email)
	return p != nil && p.IsActive()
}

// OutsideRecorders returns the addresses of recorders outside the organisation.
func (m *Mirror) OutsideRecorders() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var emails []string
	seen := map[symbol]bool{}
	for _, e := range m.meetings {
		if email := m.symbols.texts[e.recorder]; !seen[e.recorder] && e.outside && email != "" {
			emails = append(emails, email)
		}
		seen[e.recorder] = true
	}
	return emails
}

// readDirectory replaces the directory; caller holds mu.
func (m *Mirror) readDirectory(ctx context.Context) error {
	d := newDirectory()
	var err error
	if d.Types, err = m.archive.Types(ctx); err != nil {
		return err
	}
	if d.Teams, err = m.archive.Teams(ctx); err != nil {
		return err
	}
	for i := range d.Types {
		d.Types[i].CreatedAt = dateOf(d.Types[i].CreatedAt)
	}
	for i := range d.Teams {
		d.Teams[i].CreatedAt = dateOf(d.Teams[i].CreatedAt)
	}
	slices.SortFunc(d.Types, CompareTypes)
	slices.SortFunc(d.Teams, CompareTeams)
	memberships, err := m.archive.Memberships(ctx)
	if err != nil {
		return err
	}
	if err := m.readMembers(ctx, d, memberships); err != nil {
		return err
	}
	if err := m.readPeople(ctx, d, memberships); err != nil {
		return err
	}
	m.dir = d
	return nil
}

// readMembers reads the members of every team that is listed or has members.
func (m *Mirror) readMembers(ctx context.Context, d *Directory, memberships map[string][]string) error {
	names := map[string]bool{"": true}
	for _, t := range d.Teams {
		names[t.Name] = true
	}
	for _, teams := range memberships {
		for _, team := range teams {
			names[team] = true
		}
	}
	for name := range names {
		members, err := m.archive.Members(ctx, name)
		if err != nil {
			return err
		}
		for i := range members {
			members[i].CreatedAt = dateOf(members[i].CreatedAt)
		}
		slices.SortFunc(members, CompareMembers)
		d.Members[name] = members
	}
	return nil
}

// readPeople reads who is known: users, members of teams, persons of accounts.
func (m *Mirror) readPeople(ctx context.Context, d *Directory, memberships map[string][]string) error {
	var err error
	if d.Users, err = m.archive.Users(ctx); err != nil {
		return err
	}
	for i := range d.Users {
		d.Users[i].CreatedAt = dateOf(d.Users[i].CreatedAt)
		completePermissions(&d.Users[i])
		d.people[d.Users[i].Email] = &Person{User: d.Users[i]}
	}
	for _, member := range d.Members[""] {
		if d.people[member.Email] == nil {
			u := BasicUser(member.Email, member.Name, member.CreatedAt)
			d.Users = append(d.Users, u)
			d.people[u.Email] = &Person{User: u}
		}
	}
	accounts, err := m.archive.AccountPeople(ctx)
	if err != nil {
		return err
	}
	for _, email := range accounts {
		if d.people[email] == nil {
			d.people[email] = &Person{User: BasicUser(email, "", api.Time{})}
		}
	}
	slices.SortFunc(d.Users, CompareUsers)
	for email, p := range d.people {
		p.Teams = memberships[email]
		if p.principals, err = m.archive.ViewerPrincipals(ctx, archive.ViewerWith(email)); err != nil {
			return err
		}
	}
	return nil
}

// completePermissions gives a user who is not invited permissions, such as an admin who is none any
// more (2.6), and permissions the levels that they lack: both are required, and an empty one is none
// that the service knows.
func completePermissions(u *api.User) {
	p, listed := u.Permissions.Get()
	if !listed && u.Status == api.StatusInvited {
		return
	}
	p.SettingsAccess.Level = cmp.Or(p.SettingsAccess.Level, api.SettingsNone)
	p.ViewAccess.Level = cmp.Or(p.ViewAccess.Level, api.ViewOwnMeetings)
	u.Permissions = api.Some(p)
}

// dateOf replaces a missing date by the beginning of 1970: created_at is required
// and may not be null.
func dateOf(t api.Time) api.Time {
	if t.IsZero() {
		return api.TimeOf(time.Unix(0, 0))
	}
	return t
}

// BasicUser returns an active user without any right beyond those of a person.
func BasicUser(email, name string, created api.Time) api.User {
	u := api.User{Email: email, Name: api.NullOf[string](), CreatedAt: created, Status: api.StatusActive,
		Permissions: api.Some(api.Permissions{
			SettingsAccess: api.Access{Level: api.SettingsNone, Teams: []string{}},
			ViewAccess:     api.Access{Level: api.ViewOwnMeetings, Teams: []string{}},
		})}
	if name != "" {
		u.Name = api.Some(name)
	}
	return u
}
