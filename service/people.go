package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// directory is the organisation as the archive knows it at one moment. It is
// never changed, only replaced.
type directory struct {
	users   []api.User // in the order of GET /users
	byEmail map[string]*person
	types   []api.MeetingType
	teams   []api.Team
	members map[string][]api.TeamMember // by team; "" holds everybody
}

// person is somebody who can have credentials here.
type person struct {
	user       api.User
	teams      []string
	principals []string
}

func (p *person) active() bool { return p.user.Status == api.StatusActive }

func (p *person) accountAdmin() bool {
	return p.user.Permissions.Or(api.Permissions{}).SettingsAccess.Level == api.SettingsAccountAdmin
}

func emptyDirectory() *directory {
	return &directory{byEmail: map[string]*person{}, members: map[string][]api.TeamMember{}}
}

// principals are the parties that a person is of.
func (d *directory) principals(email string) []string {
	if p := d.byEmail[email]; p != nil {
		return p.principals
	}
	return []string{archive.UserPrincipal(email)}
}

func domainOf(email string) string {
	_, domain, _ := strings.Cut(email, "@")
	return domain
}

// readDirectory replaces the directory; caller holds mu.
func (m *mirror) readDirectory(ctx context.Context) error {
	d := emptyDirectory()
	var err error
	if d.types, err = m.archive.Types(ctx); err != nil {
		return err
	}
	if d.teams, err = m.archive.Teams(ctx); err != nil {
		return err
	}
	for i := range d.types {
		d.types[i].CreatedAt = dated(d.types[i].CreatedAt)
	}
	for i := range d.teams {
		d.teams[i].CreatedAt = dated(d.teams[i].CreatedAt)
	}
	slices.SortFunc(d.types, typesOrder)
	slices.SortFunc(d.teams, teamsOrder)
	if err := m.readMembers(ctx, d); err != nil {
		return err
	}
	if err := m.readPeople(ctx, d); err != nil {
		return err
	}
	m.dir = d
	return nil
}

func (m *mirror) readMembers(ctx context.Context, d *directory) error {
	names := map[string]bool{"": true}
	for _, t := range d.teams {
		names[t.Name] = true
	}
	memberships, err := m.archive.Memberships(ctx)
	if err != nil {
		return err
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
			members[i].CreatedAt = dated(members[i].CreatedAt)
		}
		slices.SortFunc(members, membersOrder)
		d.members[name] = members
	}
	return nil
}

// readPeople lists who is known: users, members of teams, owners of accounts.
func (m *mirror) readPeople(ctx context.Context, d *directory) error {
	var err error
	if d.users, err = m.archive.Users(ctx); err != nil {
		return err
	}
	for i := range d.users {
		d.users[i].CreatedAt = dated(d.users[i].CreatedAt)
		d.byEmail[d.users[i].Email] = &person{user: d.users[i]}
	}
	for _, member := range d.members[""] {
		if d.byEmail[member.Email] == nil {
			u := plainUser(member.Email, member.Name, member.CreatedAt)
			d.users = append(d.users, u)
			d.byEmail[u.Email] = &person{user: u}
		}
	}
	owners, err := m.archive.AccountPeople(ctx)
	if err != nil {
		return err
	}
	for _, email := range owners {
		if d.byEmail[email] == nil {
			d.byEmail[email] = &person{user: plainUser(email, "", api.Time{})}
		}
	}
	slices.SortFunc(d.users, usersOrder)
	memberships, err := m.archive.Memberships(ctx)
	if err != nil {
		return err
	}
	for email, p := range d.byEmail {
		p.teams = memberships[email]
		if p.principals, err = m.archive.ViewerPrincipals(ctx, archive.Viewer{Email: email}); err != nil {
			return err
		}
	}
	return nil
}

// dated gives what has no date the beginning of 1970: created_at is required
// and may not be null.
func dated(t api.Time) api.Time {
	if t.IsZero() {
		return api.TimeOf(time.Unix(0, 0))
	}
	return t
}

// plainUser is somebody of whom no list of users tells.
func plainUser(email, name string, created api.Time) api.User {
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

// person returns who has an address. Where nobody is listed, somebody who
// recorded a meeting is known by that, unless it was recorded outside: where
// nobody is known at all, nothing tells that it was.
func (m *mirror) person(email string) (*person, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if p := m.dir.byEmail[email]; p != nil {
		return p, true
	}
	w, recorded := m.words.ids[email]
	if !recorded || len(m.dir.users) > 0 {
		return nil, false
	}
	unknown := len(m.dir.byEmail) == 0 && !slices.ContainsFunc(m.order, func(e entry) bool { return !e.outside })
	for _, e := range m.order {
		if e.recorder == w && (!e.outside || unknown) {
			return &person{user: plainUser(email, "", api.Time{}), principals: []string{archive.UserPrincipal(email)}}, true
		}
	}
	return nil, false
}

// directory returns the directory of the last refresh.
func (m *mirror) directory() *directory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.dir
}

// AdminEmail is the address of the sandbox's administrator, "" where there is
// none: over an archive, or before EnsureAdminKey.
func (s *Service) AdminEmail() string {
	email, err := s.store.setting(context.Background(), "admin")
	if err != nil {
		s.log.Error().Err(err).Msg("read the administrator's address")
	}
	return string(email)
}

// EnsureAdminKey makes, at the first start of a sandbox, its administrator (a
// user of their own, unless the directory names an account admin) and the
// administrator's API key. Later it returns created false.
func (s *Service) EnsureAdminKey(ctx context.Context) (key string, created bool, err error) {
	if !s.opts.Sandbox {
		return "", false, errors.New("make the administrator's key: only a sandbox has one; see `minutebook service keys create`")
	}
	if s.AdminEmail() != "" {
		return "", false, nil
	}
	if err := s.mirror.refresh(ctx); err != nil {
		return "", false, err
	}
	email, err := s.ensureAdmin(ctx)
	if err != nil {
		return "", false, err
	}
	if key, err = s.CreateKey(ctx, email); err != nil {
		return "", false, err
	}
	return key, true, s.store.set(ctx, "admin", []byte(email))
}

// ensureAdmin returns the first account admin, having made one if need be.
func (s *Service) ensureAdmin(ctx context.Context) (string, error) {
	d := s.mirror.directory()
	for _, u := range d.users {
		if p := d.byEmail[u.Email]; p.active() && p.accountAdmin() {
			return u.Email, nil
		}
	}
	admin := plainUser("admin@"+d.mainDomain(), "Administrator", api.TimeOf(s.now()))
	admin.Permissions = api.Some(adminPermissions())
	return admin.Email, s.PutUser(ctx, admin)
}

// mainDomain is the domain of most users.
func (d *directory) mainDomain() string {
	best, most := "sandbox.example", 0
	count := map[string]int{}
	for _, u := range d.users {
		domain := domainOf(u.Email)
		if count[domain]++; count[domain] > most {
			best, most = domain, count[domain]
		}
	}
	return best
}

// PutUser adds a user to what this program itself says of the organisation, or
// replaces the one with the same address.
func (s *Service) PutUser(ctx context.Context, u api.User) error {
	users, err := s.archive.UsersOf(ctx, archive.LocalAccount)
	if err != nil {
		return err
	}
	u.Email = foldEmail(u.Email)
	users = slices.DeleteFunc(users, func(other api.User) bool { return other.Email == u.Email })
	if err := s.archive.PutUsers(ctx, archive.LocalAccount, append(users, u)); err != nil {
		return err
	}
	return s.mirror.refresh(ctx)
}

// OutsideRecorders returns the addresses of those outside the organisation who
// recorded meetings, held-back ones among them, in alphabetical order. The list
// shows their meetings only when it is asked for them (4.1).
func (s *Service) OutsideRecorders(ctx context.Context) ([]string, error) {
	if err := s.mirror.refresh(ctx); err != nil {
		return nil, err
	}
	emails := s.mirror.outsideRecorders()
	rows, err := s.store.db.R.QueryContext(ctx, `SELECT DISTINCT lower(json_extract(CAST(body AS TEXT), '$.recorded_by.email')) FROM held
		WHERE json_extract(CAST(body AS TEXT), '$.recorded_by.email') IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("list outside recorders: %w", err)
	}
	held, err := texts(rows)
	if err != nil {
		return nil, fmt.Errorf("list outside recorders: %w", err)
	}
	d := s.mirror.directory()
	for _, email := range held {
		if d.byEmail[email] == nil {
			emails = append(emails, email)
		}
	}
	slices.Sort(emails)
	return slices.Compact(emails), nil
}

func (m *mirror) outsideRecorders() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var emails []string
	seen := map[word]bool{}
	for _, e := range m.order {
		if email := m.words.texts[e.recorder]; !seen[e.recorder] && e.outside && email != "" {
			emails = append(emails, email)
		}
		seen[e.recorder] = true
	}
	return emails
}
