package service

import (
	"context"
	"fmt"
	"strings"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/service/mirror"
)

// NewUser is a user to be added to the directory.
type NewUser struct {
	Email  string `json:"email"`
	Name   string `json:"name,omitempty"`
	Team   string `json:"team,omitempty"`
	Admin  bool   `json:"admin,omitempty"`  // account_admin, and views all teams
	Status string `json:"status,omitempty"` // active when empty
}

// CreateUser adds a user to the program's own list of users, or replaces
// the one with the same address.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (api.User, error) {
	n.Email = api.FoldEmail(n.Email)
	if name, domain, ok := strings.Cut(n.Email, "@"); !ok || name == "" || domain == "" {
		return api.User{}, fmt.Errorf("create user: %q is not an e-mail address", n.Email)
	}
	u := mirror.BasicUser(n.Email, n.Name, api.TimeOf(s.now()))
	switch n.Status {
	case "", api.StatusActive, api.StatusDeactivated:
	case api.StatusInvited:
		u.Permissions = api.Opt[api.Permissions]{}
	default:
		return api.User{}, fmt.Errorf("create user: status %q is not active, deactivated or invited", n.Status)
	}
	if n.Status != "" {
		u.Status = n.Status
	}
	if n.Admin && u.Status != api.StatusInvited {
		u.Permissions = api.Some(adminPermissions())
	}
	err := s.changeDirectory(ctx, func() error {
		if err := s.putUser(ctx, u); err != nil || n.Team == "" {
			return err
		}
		return s.addMember(ctx, n.Team, u)
	})
	if err != nil {
		return api.User{}, fmt.Errorf("create user: %w", err)
	}
	return u, nil
}

func adminPermissions() api.Permissions {
	return api.Permissions{
		SettingsAccess: api.Access{Level: api.SettingsAccountAdmin, Teams: []string{}},
		ViewAccess:     api.Access{Level: api.ViewAllTeams, Teams: []string{}},
	}
}

// addMember puts a user into a team, which is made when it is not there.
func (s *Service) addMember(ctx context.Context, team string, u api.User) error {
	if err := s.addTeams(ctx, datedNames(s.now(), team), nil); err != nil {
		return err
	}
	members, err := s.archive.MembersOf(ctx, archive.LocalAccount, team)
	if err != nil {
		return err
	}
	members = append(members, api.TeamMember{Name: u.Name.Or(""), Email: u.Email, CreatedAt: u.CreatedAt})
	if err := s.archive.PutTeamMembers(ctx, archive.LocalAccount, team, members); err != nil {
		return err
	}
	return s.mirror.Refresh(ctx)
}

// SetUserStatus changes whether a user is active, deactivated or invited.
func (s *Service) SetUserStatus(ctx context.Context, email, status string) error {
	if status != api.StatusActive && status != api.StatusDeactivated && status != api.StatusInvited {
		return fmt.Errorf("change user: status %q is not active, deactivated or invited", status)
	}
	return s.changeDirectory(ctx, func() error { return s.setUserStatus(ctx, email, status) })
}

func (s *Service) setUserStatus(ctx context.Context, email, status string) error {
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	p := s.mirror.Person(api.FoldEmail(email))
	if p == nil {
		return fmt.Errorf("change user: %s is not a user here; see `minutebook service users list`", email)
	}
	u := p.User
	u.Status = status
	if status == api.StatusInvited {
		u.Permissions = api.Opt[api.Permissions]{}
	} else if u.Permissions.Absent() {
		u.Permissions = mirror.BasicUser(u.Email, "", u.CreatedAt).Permissions
	}
	return s.putUser(ctx, u)
}

// Users lists everybody in the directory, in the order of GET /users.
func (s *Service) Users(ctx context.Context) ([]api.User, error) {
	if err := s.mirror.Refresh(ctx); err != nil {
		return nil, err
	}
	return append([]api.User{}, s.mirror.Directory().Users...), nil
}
