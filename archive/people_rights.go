package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// A visibilityRule is a way in which a meeting is visible to a principal: the rows
// of a table for which it holds, and the principal of each.
type visibilityRule struct{ principal, table, where string }

// sharedTerm is the condition on meetings for which shared_with counts: a meeting
// recorded outside is shared with the teams of another organisation, and a meeting that
// is gone may have been made private.
const sharedTerm = `r.gone_at IS NULL AND NOT r.outside AND r.shared_with `

// visibilityRules decide who sees a meeting. [Archive.Principals] explains them.
var visibilityRules = [...]visibilityRule{
	{`'user:' || r.recorder`, `meetings`, `r.recorder <> ''`},
	{sightingPrincipal, `sightings`, `r.gone_at IS NULL`},
	{`'` + PrincipalEveryone + `'`, `meetings`, sharedTerm + `= '` + api.SharedAllTeams + `'`},
	{`'team:' || r.sharing_team`, `meetings`, sharedTerm + `= '` + api.SharedSingleTeam + `' AND r.sharing_team <> ''`},
	{`'` + PrincipalShared + `'`, `meetings`,
		sharedTerm + `IN ('` + api.SharedAllTeams + `', '` + api.SharedSingleTeam + `', '` + api.SharedMultipleTeams + `')`},
	{`r.principal`, `shares`, `1`},
	{`'` + PrincipalShared + `'`, `shares`, `(r.principal = '` + PrincipalEveryone + `' OR r.principal LIKE 'team:%')`},
}

// sightingPrincipal is passPrincipal in SQL.
const sightingPrincipal = `'account:' || r.account || iif(r.holder > 1, '#' || r.holder, '') || iif(r.query <> '', '/' || r.query, '')`

// rightsQuery selects recording_id and principal by all rules.
func rightsQuery() string {
	arms := make([]string, len(visibilityRules))
	for i, r := range visibilityRules {
		arms[i] = `SELECT r.recording_id, ` + r.principal + ` AS principal FROM ` + r.table + ` r WHERE ` + r.where
	}
	return strings.Join(arms, " UNION ALL ")
}

// visibleTerm is the condition on meetings m that a viewer sees; "" is no
// condition.
func (a *Archive) visibleTerm(ctx context.Context, v Viewer) (string, []any, error) {
	if v.All {
		return "", nil, nil
	}
	principals, err := a.ViewerPrincipals(ctx, v)
	if err != nil {
		return "", nil, err
	}
	list, err := json.Marshal(nonNil(principals))
	if err != nil {
		return "", nil, err
	}
	var terms []string
	var args []any
	for _, r := range visibilityRules {
		terms = append(terms, `EXISTS (SELECT 1 FROM `+r.table+` r WHERE r.recording_id = m.recording_id AND `+r.where+`
			AND `+r.principal+` IN (SELECT value FROM json_each(?)))`)
		args = append(args, string(list))
	}
	return `(` + strings.Join(terms, " OR ") + `)`, args, nil
}

// insideTerm is the condition that the recorder of meetings m belongs to the
// organisation (specification 4.1). The plain list leaves out meetings recorded
// outside, so every recorder that it ever showed is inside. Where no plain list was
// read, known people are inside: users, members of teams, persons of accounts. An
// address's domain proves nothing.
const insideTerm = `CASE WHEN EXISTS (SELECT 1 FROM watches WHERE query = '')
	THEN EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = m.recording_id AND s.query = '')
		OR m.recorder <> '' AND EXISTS (SELECT 1 FROM meetings x JOIN sightings s USING (recording_id)
			WHERE x.recorder = m.recorder AND s.query = '')
	ELSE m.recorder <> '' AND (EXISTS (SELECT 1 FROM users WHERE email = m.recorder AND ` + configuredTerm + `)
		OR EXISTS (SELECT 1 FROM team_members WHERE email = m.recorder AND ` + configuredTerm + `)
		OR EXISTS (SELECT 1 FROM account_people WHERE email = m.recorder AND ` + configuredTerm + `))
	END`

// readRecorder returns the address of who recorded a meeting, in the form for
// comparing.
func (t *applying) readRecorder(id int64) (email string, err error) {
	_, err = t.Scan(`SELECT recorder FROM meetings WHERE recording_id = ?`, []any{id}, &email)
	return email, err
}

// deriveOutside decides again whether an observed meeting was recorded outside; previous
// is its recorder before. The recorder's other meetings follow where the meeting can have
// changed them: one that is outside shows nothing of its recorder, and a new one takes nothing
// away. The change of a new meeting is logged by its parts.
func (t *applying) deriveOutside(id int64, previous string, isNew bool) error {
	var outside bool
	var email string
	changed, err := t.Scan(`UPDATE meetings AS m SET outside = NOT (`+insideTerm+`) WHERE recording_id = ?
		AND outside = (`+insideTerm+`) RETURNING outside, recorder`, []any{id}, &outside, &email)
	if err != nil {
		return err
	}
	if !changed {
		_, err = t.Scan(`SELECT outside, recorder FROM meetings WHERE recording_id = ?`, []any{id}, &outside, &email)
	} else if !isNew {
		err = t.logChange(id, ChangeVisibility, "")
	}
	if err == nil && email != "" && (changed || previous != email) {
		err = t.deriveOutsideWhere(!outside, changed && outside && !isNew, `recorder = ?`, email)
	}
	if err == nil && previous != "" && previous != email {
		err = t.deriveOutsideWhere(false, true, `recorder = ?`, previous)
	}
	return err
}

// deriveOutsideWhere decides again for the meetings of a condition, and logs those
// whose visibility changed: of those outside, with widen, and of those inside, with
// narrow.
func (t *applying) deriveOutsideWhere(widen, narrow bool, where string, args ...any) error {
	var ids []int64
	collect := func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}
	if widen {
		err := t.Each(`UPDATE meetings AS m SET outside = 0 WHERE outside = 1 AND `+where+` AND (`+insideTerm+`) RETURNING recording_id`, args, collect)
		if err != nil {
			return fmt.Errorf("decide what was recorded outside: %w", err)
		}
	}
	if narrow {
		err := t.Each(`UPDATE meetings AS m SET outside = 1 WHERE outside = 0 AND `+where+` AND NOT (`+insideTerm+`) RETURNING recording_id`, args, collect)
		if err != nil {
			return fmt.Errorf("decide what was recorded outside: %w", err)
		}
	}
	for _, id := range ids {
		if err := t.logChange(id, ChangeVisibility, ""); err != nil {
			return err
		}
	}
	return nil
}

// selectNames returns the names in the rows of a table in a scope, as one JSON list.
func (t *applying) selectNames(l rowReplacement) (names string, err error) {
	_, err = t.Scan(`SELECT json_group_array(`+nameColumn(l.table)+`) FROM `+l.table+` WHERE `+l.scope, l.args, &names)
	return names, err
}

// selectGone returns those of the names that no row of the table in the scope has.
func (t *applying) selectGone(l rowReplacement, names string) (gone string, err error) {
	_, err = t.Scan(`SELECT json_group_array(value) FROM json_each(?) WHERE value NOT IN (SELECT `+nameColumn(l.table)+` FROM `+l.table+` WHERE `+l.scope+`)`,
		append([]any{names}, l.args...), &gone)
	return gone, err
}

// nameColumn returns the expression that identifies the subject of a directory row,
// whichever account lists it.
func nameColumn(table string) string {
	switch table {
	case "users":
		return "email"
	case "team_members":
		return "json_array(team, email)"
	default:
		return "name"
	}
}

// withdraw deletes entries, by their names, that a whole list of an account no longer has
// from the other accounts' lists, since these were read earlier and may not be read any
// more. An entry that another list still shows comes back with its next read. An account
// that never listed an entry does not withdraw it. Local entries stay, and so do
// deactivated users: without the row, a member of a team would count as active.
// withdraw adds the people of the rows to people.
func (t *applying) withdraw(l rowReplacement, gone string, people map[string]bool) error {
	const condition = ` WHERE account NOT IN (?1, '` + LocalAccount + `') AND `
	args := []any{l.account, gone}
	const names = ` IN (SELECT value FROM json_each(?2))`
	switch l.table {
	case "users":
		return t.Each(`DELETE FROM users`+condition+`status <> '`+api.StatusDeactivated+`' AND email`+names+` RETURNING email`, args, addPeople(people))
	case "team_members":
		return t.Each(`DELETE FROM team_members`+condition+`(team, email) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2)) RETURNING email`, args, addPeople(people))
	default: // a team takes its members with it
		if err := t.Each(`DELETE FROM team_members`+condition+`team`+names+` RETURNING email`, args, addPeople(people)); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM teams`+condition+`name`+names, args...)
		return err
	}
}

// PutLocalUser adds a user to this program's own directory, or replaces the one with the same
// address, as a person says now. It ends a deactivation by a list that is read no more: its
// account has left, is refused, or may not read it. The list counts again where it is read again. See [Archive.ListedStatus]
// for the others.
func (a *Archive) PutLocalUser(ctx context.Context, u api.User) error {
	row, err := userRow(LocalAccount, u)
	if err != nil {
		return err
	}
	email := api.FoldEmail(u.Email)
	changes := []rowReplacement{{table: "users", scope: "account = '" + LocalAccount + "' AND email = ?", args: []any{email}, rows: [][]any{row}}}
	if u.Status != api.StatusDeactivated {
		changes = append(changes, rowReplacement{table: "users", scope: "email = ? AND status = '" + api.StatusDeactivated + "' AND account <> '" + LocalAccount + "'" +
			" AND NOT (" + readUsersTerm + ")", args: []any{email}})
	}
	return a.putDirectory(ctx, "", changes...)
}

// addPeople takes rows of an address each.
func addPeople(people map[string]bool) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var email string
		err := rows.Scan(&email)
		people[email] = true
		return err
	}
}

// ShareLevel is the right that a share gives beyond seeing (specification 4.5).
type ShareLevel string

// The levels of a share. Only a limited one does not allow the download.
const (
	ShareLimited  ShareLevel = "limited"
	ShareStandard ShareLevel = "standard"
	ShareAdmin    ShareLevel = "admin"
)

// Share is an explicit share of a meeting with a principal.
type Share struct {
	RecordingID int64
	Principal   string
	Level       ShareLevel
}

// PutShares adds shares to those there are; a share with the same principal
// takes the new level. Each meeting whose shares differ afterwards is logged as
// ChangeVisibility.
func (a *Archive) PutShares(ctx context.Context, shares ...Share) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		changed := map[int64]bool{}
		for _, s := range shares {
			res, err := tx.ExecContext(ctx, `INSERT INTO shares (recording_id, principal, level) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET level = excluded.level WHERE level <> excluded.level`,
				s.RecordingID, s.Principal, string(s.Level))
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n > 0 {
				changed[s.RecordingID] = true
			}
		}
		return a.logVisibility(ctx, tx, changed)
	})
	if err != nil {
		return fmt.Errorf("put shares: %w", err)
	}
	return nil
}

// SetShares makes the given shares all there are of a meeting.
func (a *Archive) SetShares(ctx context.Context, id int64, shares map[string]ShareLevel) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		changed, err := replaceShares(ctx, tx, id, shares)
		if err != nil || !changed {
			return err
		}
		return a.logVisibility(ctx, tx, map[int64]bool{id: true})
	})
	if err != nil {
		return fmt.Errorf("set shares of %d: %w", id, err)
	}
	return nil
}

// replaceShares reports whether a meeting had other shares.
func replaceShares(ctx context.Context, tx *sql.Tx, id int64, shares map[string]ShareLevel) (changed bool, err error) {
	before, err := sqlite.Map[string, ShareLevel](ctx, tx, `SELECT principal, level FROM shares WHERE recording_id = ?`, id)
	if err != nil || maps.Equal(before, shares) {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM shares WHERE recording_id = ?`, id); err != nil {
		return false, err
	}
	for principal, level := range shares {
		_, err := tx.ExecContext(ctx, `INSERT INTO shares (recording_id, principal, level) VALUES (?, ?, ?)`, id, principal, string(level))
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// observeShares makes the shares that an observation states all there are.
func (t *applying) observeShares(o *Observation) error {
	if o.Shares == nil {
		return nil
	}
	changed, err := replaceShares(t.Context(), t.Tx(), o.RecordingID, o.Shares)
	if err != nil || !changed {
		return err
	}
	if _, err := t.Exec(endRefusals, o.RecordingID); err != nil {
		return err
	}
	return t.logChange(o.RecordingID, ChangeVisibility, "")
}

func (a *Archive) logVisibility(ctx context.Context, tx *sql.Tx, changed map[int64]bool) error {
	for id := range changed {
		if err := logChange(ctx, tx, id, ChangeVisibility, "", a.now()); err != nil {
			return err
		}
	}
	return nil
}
