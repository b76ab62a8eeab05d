package api

import (
	"context"
	"iter"
	"net/url"
)

// MeetingTypesPage reads one page of the meeting types (specification 4.2),
// active and inactive.
func (c *Client) MeetingTypesPage(ctx context.Context, cursor string) (*Page[MeetingType], error) {
	return readTyped[MeetingType](ctx, c, get("/meeting_types", nil), cursor)
}

// MeetingTypes yields all meeting types and ends after the first error.
func (c *Client) MeetingTypes(ctx context.Context) iter.Seq2[MeetingType, error] {
	return yieldPages(func(cursor string) (*Page[MeetingType], error) { return c.MeetingTypesPage(ctx, cursor) })
}

// TeamsPage reads one page of the teams (specification 4.7).
func (c *Client) TeamsPage(ctx context.Context, cursor string) (*Page[Team], error) {
	return readTyped[Team](ctx, c, get("/teams", nil), cursor)
}

// Teams yields all teams and ends after the first error.
func (c *Client) Teams(ctx context.Context) iter.Seq2[Team, error] {
	return yieldPages(func(cursor string) (*Page[Team], error) { return c.TeamsPage(ctx, cursor) })
}

// TeamMembersPage reads one page of the members (specification 4.8) of a team,
// or of all teams where team is empty. A service without such a parameter answers
// with all.
func (c *Client) TeamMembersPage(ctx context.Context, team, cursor string) (*Page[TeamMember], error) {
	query := url.Values{}
	if team != "" {
		query.Set("team", team)
	}
	return readTyped[TeamMember](ctx, c, get("/team_members", query), cursor)
}

// TeamMembers yields all members of a team, or of all teams where team is
// empty, and ends after the first error.
func (c *Client) TeamMembers(ctx context.Context, team string) iter.Seq2[TeamMember, error] {
	return yieldPages(func(cursor string) (*Page[TeamMember], error) { return c.TeamMembersPage(ctx, team, cursor) })
}

// UserQuery filters the users (specification 4.9); StatusInvited cannot be
// combined with SettingsAccess.
type UserQuery struct {
	Team           string
	Status         string
	SettingsAccess string
}

// UsersPage reads one page of the users. For callers who are not account admins
// it fails, see IsForbidden.
func (c *Client) UsersPage(ctx context.Context, q UserQuery, cursor string) (*Page[User], error) {
	query := url.Values{}
	for key, value := range map[string]string{"team": q.Team, "status": q.Status, "settings_access": q.SettingsAccess} {
		if value != "" {
			query.Set(key, value)
		}
	}
	return readTyped[User](ctx, c, get("/users", query), cursor)
}

// Users yields all users of a query, active ones first, then deactivated, then
// invited, and ends after the first error.
func (c *Client) Users(ctx context.Context, q UserQuery) iter.Seq2[User, error] {
	return yieldPages(func(cursor string) (*Page[User], error) { return c.UsersPage(ctx, q, cursor) })
}
