package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"minutebook/api"
)

// Viewer is who asks. All sees everything: the archive's owner. Otherwise Email
// says which person's visibility (specification 1.7) applies.
type Viewer struct {
	All   bool
	Email string
}

// A principal is a party that a meeting can be visible to. Principals says
// which parties see a meeting, ViewerPrincipals which ones a person is of; the
// person sees the meeting when they have one in common.
//
//	user:EMAIL     a person, in lower case
//	team:NAME      the members of a team, and who may view that team's meetings
//	everyone       every active member of the organisation
//	account:NAME   whoever an account belongs to
//	shared         who may view all that is shared with any team
const (
	PrincipalEveryone = "everyone"
	PrincipalShared   = "shared"
)

// UserPrincipal is the principal of a person.
func UserPrincipal(email string) string { return "user:" + foldEmail(email) }

// TeamPrincipal is the principal of a team.
func TeamPrincipal(team string) string { return "team:" + team }

// AccountPrincipal is the principal of an account's owner.
func AccountPrincipal(account string) string { return "account:" + account }

// Principals says who sees each of the meetings; one that is unknown has no
// entry. A meeting is visible to who recorded it, to the accounts that are
// shown it, to those it was explicitly shared with, and, by its shared_with, to
// everyone (all_teams) or to the recorder's team by the newest read (single_team). multiple_teams
// says that it is shared, and not with whom. What shared_with says of a meeting
// that is gone counts no more, since it may have been made private.
func (a *Archive) Principals(ctx context.Context, ids []int64) (map[int64][]string, error) {
	all := make(map[int64][]string, len(ids))
	err := a.Visible(ctx, ids, func(v Visibility) error {
		all[v.RecordingID] = v.Principals
		return nil
	})
	return all, err
}

// ViewerPrincipals returns the parties that a person is of. For a Viewer with
// All it returns none, since nothing is to be asked.
func (a *Archive) ViewerPrincipals(ctx context.Context, v Viewer) ([]string, error) {
	if v.All {
		return nil, nil
	}
	email := foldEmail(v.Email)
	if email == "" {
		return nil, nil
	}
	principals := []string{UserPrincipal(email)}
	user, err := a.User(ctx, email)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if user != nil && user.Status != api.StatusActive {
		return principals, nil
	}
	teams, err := a.column(ctx, `SELECT DISTINCT team FROM team_members WHERE email = ? ORDER BY team`, email)
	if err != nil {
		return nil, err
	}
	if user != nil || len(teams) > 0 {
		principals = append(principals, PrincipalEveryone)
	}
	if user != nil {
		view := user.Permissions.Or(api.Permissions{}).ViewAccess
		switch view.Level {
		case api.ViewTeam, api.ViewMultipleTeams:
			teams = append(teams, view.Teams...)
		case api.ViewAllTeams:
			principals = append(principals, PrincipalShared)
		}
	}
	for _, team := range teams {
		if team != "" {
			principals = append(principals, TeamPrincipal(team))
		}
	}
	accounts, err := a.column(ctx, `SELECT account FROM account_people WHERE email = ? ORDER BY account`, email)
	if err != nil {
		return nil, err
	}
	for _, account := range accounts {
		principals = append(principals, AccountPrincipal(account))
	}
	slices.Sort(principals)
	return slices.Compact(principals), nil
}

// column reads a column of text.
func (a *Archive) column(ctx context.Context, query string, args ...any) ([]string, error) {
	var values []string
	rows, err := a.db.R.QueryContext(ctx, query, args...)
	if err == nil {
		err = eachRow(rows, func(rows *sql.Rows) error {
			var v string
			if err := rows.Scan(&v); err != nil {
				return err
			}
			values = append(values, v)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read principals: %w", err)
	}
	return values, nil
}
