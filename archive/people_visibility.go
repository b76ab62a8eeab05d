package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Viewer is the person who reads. All sees everything: the archive's owner. Otherwise
// the visibility (specification 1.7) of the person applies: each of the addresses in
// Emails gives its rights, and without one nothing is seen.
type Viewer struct {
	All    bool
	Emails []string
}

// ViewerWith returns the viewer with one address, or with several.
func ViewerWith(emails ...string) Viewer { return Viewer{Emails: emails} }

// addresses returns the viewer's addresses as they are compared, each once.
func (v Viewer) addresses() []string {
	var all []string
	for _, email := range v.Emails {
		if email = api.FoldEmail(email); email != "" && !slices.Contains(all, email) {
			all = append(all, email)
		}
	}
	return all
}

// A principal is a party that can see a meeting. Principals returns the parties that
// see a meeting, ViewerPrincipals the parties of a person. The person sees the meeting
// when the two have one in common.
//
//	user:EMAIL     a person, in lower case
//	team:NAME      the members of a team, and people who may view its meetings
//	everyone       every active member of the organisation
//	account:NAME   the holder of an account, by its plain list; with another
//	               list query, or a later holder: account:NAME#HOLDER/QUERY
//	shared         people who may view all meetings shared with any team
const (
	PrincipalEveryone = "everyone"
	PrincipalShared   = "shared"
)

// UserPrincipal is the principal of a person.
func UserPrincipal(email string) string { return "user:" + api.FoldEmail(email) }

// TeamPrincipal is the principal of a team.
func TeamPrincipal(team string) string { return "team:" + team }

// AccountPrincipal is the principal of an account's first holder, by its plain
// list.
func AccountPrincipal(account string) string { return passPrincipal(account, 1, "") }

// passPrincipal is the principal of an account's holder by one of its list
// queries. A right so ends with the query or the holder, without a word about any
// meeting.
func passPrincipal(account string, holder int, query string) string {
	p := "account:" + account
	if holder > 1 {
		p += "#" + strconv.Itoa(holder)
	}
	if query != "" {
		p += "/" + query
	}
	return p
}

// Principals returns the parties that see each of the meetings. An unknown meeting has
// no entry. A meeting is visible to its recorder, to the accounts whose lists show it,
// to the parties of its explicit shares, and, by its shared_with, to everyone
// (all_teams) or to the recorder's team by the newest read (single_team).
// multiple_teams does not name the teams, nor does a single_team without a known team:
// then only people who may view all shared meetings see it. shared_with counts neither
// for a meeting that is gone, since it may have been made private, nor for one recorded
// outside the organisation, whose teams are others.
func (a *Archive) Principals(ctx context.Context, ids []int64) (map[int64][]string, error) {
	all := make(map[int64][]string, len(ids))
	err := a.Visible(ctx, ids, func(v Visibility) error {
		all[v.RecordingID] = v.Principals
		return nil
	})
	return all, err
}

// ViewerPrincipals returns the parties that a person is of, by all addresses; none for
// who is deactivated by one address, and active by no other. For a Viewer with All it
// returns none, since nothing is to be asked.
func (a *Archive) ViewerPrincipals(ctx context.Context, v Viewer) ([]string, error) {
	if v.All {
		return nil, nil
	}
	if deactivated, err := a.IsDeactivated(ctx, v.addresses()); err != nil || deactivated {
		return nil, err
	}
	var principals []string
	for _, email := range v.addresses() {
		parties, err := a.principals.Get(email, func() ([]string, error) { return a.addressPrincipals(ctx, email) })
		if err != nil {
			return nil, err
		}
		principals = append(principals, parties...)
	}
	slices.Sort(principals)
	return slices.Compact(principals), nil
}

// addressPrincipals returns the parties that the person with an address is of.
func (a *Archive) addressPrincipals(ctx context.Context, email string) ([]string, error) {
	user, err := a.User(ctx, email)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if user != nil && user.Status == api.StatusDeactivated {
		return nil, nil // no credential of theirs works any more (3.2)
	}
	principals := []string{UserPrincipal(email)}
	if user != nil && user.Status != api.StatusActive {
		return principals, nil
	}
	teams, err := a.readPrincipals(ctx, `SELECT DISTINCT team FROM team_members WHERE email = ? AND `+configuredTerm+` ORDER BY team`, email)
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
	passes, err := a.passesOf(ctx, email)
	if err != nil {
		return nil, err
	}
	return append(principals, passes...), nil
}

// passesOf returns the principals of a person's accounts: one for each query
// that is read.
func (a *Archive) passesOf(ctx context.Context, email string) ([]string, error) {
	return a.readPrincipals(ctx, `SELECT `+sightingPrincipal+` FROM (
			SELECT p.account, coalesce(a.holder, 1) AS holder, '' AS query FROM account_people p LEFT JOIN accounts a ON a.name = p.account
				WHERE p.email = ?1
			UNION SELECT p.account, coalesce(a.holder, 1), w.query FROM account_people p LEFT JOIN accounts a ON a.name = p.account
				JOIN watches w USING (account) WHERE p.email = ?1 AND w.ended_at IS NULL) r`, email)
}

// readPrincipals reads one column of text.
func (a *Archive) readPrincipals(ctx context.Context, query string, args ...any) ([]string, error) {
	values, err := sqlite.Column[string](ctx, a.db.R, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read who sees meetings: %w", err)
	}
	return values, nil
}
