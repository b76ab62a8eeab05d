package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
// a person who is deactivated (see [Archive.IsDeactivated]). For a Viewer with All it
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

// IsDeactivated reports whether the directory has one of a person's addresses as a deactivated
// user and none as an active one. It takes an address that no list names for active if a whole
// walk with the key of its account began after the lists that have the deactivated one were read,
// and the service has not refused the account since.
func (a *Archive) IsDeactivated(ctx context.Context, emails []string) (bool, error) {
	folded := make([]string, len(emails))
	for i, email := range emails {
		folded[i] = api.FoldEmail(email)
	}
	return a.deactivated.Get(fmt.Sprintf("%q", folded), func() (bool, error) { return a.readDeactivated(ctx, folded) })
}

// AreDeactivated is [Archive.IsDeactivated] for many people, whose addresses are given, by
// one reading of the directory.
func (a *Archive) AreDeactivated(ctx context.Context, people [][]string) ([]bool, error) {
	var all []string
	for _, emails := range people {
		for _, email := range emails {
			all = append(all, api.FoldEmail(email))
		}
	}
	standings, err := a.standings(ctx, all)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(people))
	for i, emails := range people {
		out[i] = isDeactivated(emails, standings)
	}
	return out, nil
}

func (a *Archive) readDeactivated(ctx context.Context, emails []string) (bool, error) {
	standings, err := a.standings(ctx, emails)
	return isDeactivated(emails, standings), err
}

// standing is how an address stands in the directory.
type standing struct {
	status string // "": no list names it
	rank   int64  // of the newest list that names it
	walk   int64  // the rank of the last whole walk by the key of its account; 0: none
}

// isDeactivated reports whether a person with some addresses is deactivated.
func isDeactivated(emails []string, standings map[string]standing) bool {
	out, last, walk := false, int64(0), int64(0)
	for _, email := range emails {
		switch s := standings[api.FoldEmail(email)]; s.status {
		case api.StatusActive:
			return false
		case api.StatusDeactivated:
			out, last = true, max(last, s.rank)
		case "":
			walk = max(walk, s.walk)
		}
	}
	return out && walk <= last
}

// newestRank is the rank of the newest list of an account that has the address of u.
const newestRank = `coalesce((SELECT max(d.rank) FROM users n JOIN directory_lists d USING (account)
	WHERE n.email = u.email AND d.list IN ('` + usersList + `', '` + someUsersList + `')), 0)`

// standings returns the standing of each of some addresses.
func (a *Archive) standings(ctx context.Context, emails []string) (map[string]standing, error) {
	list, err := json.Marshal(emails)
	if err != nil {
		return nil, fmt.Errorf("read user: %w", err)
	}
	standings := map[string]standing{}
	scan := func(rows *sql.Rows) error {
		var email string
		var s standing
		err := rows.Scan(&email, &s.status, &s.rank, &s.walk)
		if known, ok := standings[email]; ok {
			s.status, s.rank, s.walk = known.status, known.rank, max(known.walk, s.walk)
		}
		standings[email] = s
		return err
	}
	// What was said here outlasts every walk.
	err = a.readDirectory(ctx, "user", `SELECT email, status, iif(account = '`+LocalAccount+`', ?2, `+newestRank+`), 0
		FROM `+listedUsers+` AND email IN (SELECT value FROM json_each(?1))`+lastListed, []any{string(list), int64(math.MaxInt64)}, scan)
	if err == nil {
		err = a.readDirectory(ctx, "user", `SELECT p.email, '', 0, rank FROM account_people p JOIN directory_lists l USING (account)
			WHERE p.email IN (SELECT value FROM json_each(?)) AND list = '`+keyList+`' || p.email`, []any{string(list)}, scan)
	}
	return standings, err
}

// reactivate notes that the service accepts the key of a walk's person, and drops the lists'
// rows of the person, if the last of them calls the person deactivated or invited and was read
// before the walk began. The service refuses the keys of deactivated users, and invited ones
// have none. Earlier rows go too: they may name rights that have ended. A row of this program's
// own directory stays.
func (t *applying) reactivate(w Walk) error {
	if !w.ByKey {
		return nil
	}
	const isLatest = `EXISTS (SELECT 1 FROM walks WHERE account = ?1 AND query = ?3 AND begun = ?4)`
	args := []any{w.Account, walkList(w.Query), w.Query, w.Number}
	var mayReturn bool // no list names the person, and one calls an address deactivated, perhaps a former one
	_, err := t.Scan(`SELECT EXISTS (SELECT 1 FROM users u WHERE status = '`+api.StatusDeactivated+`' AND account <> '`+LocalAccount+`'
				AND `+newestRank+` BETWEEN coalesce(k.rank, 0) AND b.rank - 1)
			FROM account_people p JOIN directory_lists b ON b.account = p.account AND b.list = ?2
				LEFT JOIN directory_lists k ON k.account = p.account AND k.list = '`+keyList+`' || p.email
			WHERE p.account = ?1 AND p.email NOT IN (SELECT email FROM `+listedUsers+`) AND `+isLatest, args, &mayReturn)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO directory_lists (account, list, rank)
		SELECT ?1, '`+keyList+`' || p.email, b.rank FROM account_people p JOIN directory_lists b USING (account)
			WHERE account = ?1 AND b.list = ?2 AND `+isLatest+`
		ON CONFLICT DO UPDATE SET rank = max(rank, excluded.rank)`, args...)
	if err != nil {
		return err
	}
	res, err := t.Exec(`DELETE FROM users WHERE email = (
			SELECT email FROM (SELECT email, status, account FROM `+listedUsers+` AND email = (SELECT p.email FROM account_people p WHERE p.account = ?1)`+lastListed+` LIMIT 1)
			WHERE account <> '`+LocalAccount+`' AND status <> '`+api.StatusActive+`')
		AND account <> '`+LocalAccount+`'
		AND EXISTS (SELECT 1 FROM directory_lists b WHERE b.account = ?1 AND b.list = ?2 AND NOT EXISTS (
			SELECT 1 FROM users u JOIN directory_lists l USING (account)
				WHERE u.email = users.email AND l.list IN ('`+usersList+`', '`+someUsersList+`') AND l.rank > b.rank))
		AND `+isLatest, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 && !mayReturn {
		return err
	}
	return logChange(t.Context(), t.Tx(), 0, ChangeDirectory, "", t.at)
}

// endWalks has the walks of an account, one that is under way included, say nothing of its
// person any more.
const endWalks = `DELETE FROM directory_lists WHERE account = ? AND (list LIKE 'walk/%' OR list LIKE '` + keyList + `%')`

// SetSuspended records whether the service refuses an account. The account's lists of the
// organisation count until another account's list takes their place. Its earlier walks say
// nothing of its person any more.
func (a *Archive) SetSuspended(ctx context.Context, account string, suspended bool) error {
	return a.noteList(ctx, account, suspendedList, suspended)
}

// noteList records one of the lists without a rank, or that it is none any more.
func (a *Archive) noteList(ctx context.Context, account, list string, noted bool) error {
	var known bool
	err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM directory_lists WHERE account = ? AND list = ?)`, account, list).Scan(&known)
	if err == nil && known != noted {
		change := `DELETE FROM directory_lists WHERE account = ? AND list = ?`
		if noted {
			change = `INSERT INTO directory_lists (account, list, rank) VALUES (?, ?, 0) ON CONFLICT DO NOTHING`
		}
		_, err = a.change(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, change, account, list)
			if err != nil || list != suspendedList || !noted {
				return err
			}
			if _, err := tx.ExecContext(ctx, endWalks, account); err != nil {
				return err
			}
			return logChange(ctx, tx, 0, ChangeDirectory, "", a.now())
		})
	}
	if err != nil {
		return fmt.Errorf("note that account %s is %s: %w", account, list, err)
	}
	return nil
}
