package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// rule is a way in which a meeting is visible to a principal: the rows of a
// table for which it holds, and the principal of each.
type rule struct{ principal, table, where string }

// sharedInside is the condition on meetings for which shared_with counts: a meeting
// recorded outside is shared with the teams of another organisation, and a meeting that
// is gone may have been made private.
const sharedInside = `r.gone_at IS NULL AND NOT r.outside AND r.shared_with `

// rules decide who sees a meeting. [Archive.Principals] explains them.
var rules = [...]rule{
	{`'user:' || r.recorder`, `meetings`, `r.recorder <> ''`},
	{sightingPrincipal, `sightings`, `r.gone_at IS NULL`},
	{`'` + PrincipalEveryone + `'`, `meetings`, sharedInside + `= '` + api.SharedAllTeams + `'`},
	{`'team:' || r.sharing_team`, `meetings`, sharedInside + `= '` + api.SharedSingleTeam + `' AND r.sharing_team <> ''`},
	{`'` + PrincipalShared + `'`, `meetings`,
		sharedInside + `IN ('` + api.SharedAllTeams + `', '` + api.SharedSingleTeam + `', '` + api.SharedMultipleTeams + `')`},
	{`r.principal`, `shares`, `1`},
	{`'` + PrincipalShared + `'`, `shares`, `(r.principal = '` + PrincipalEveryone + `' OR r.principal LIKE 'team:%')`},
}

// sightingPrincipal is passPrincipal in SQL.
const sightingPrincipal = `'account:' || r.account || iif(r.holder > 1, '#' || r.holder, '') || iif(r.query <> '', '/' || r.query, '')`

// rights selects recording_id and principal by all rules.
func rights() string {
	arms := make([]string, len(rules))
	for i, r := range rules {
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
	mine, err := json.Marshal(nonNil(principals))
	if err != nil {
		return "", nil, err
	}
	var terms []string
	var args []any
	for _, r := range rules {
		terms = append(terms, `EXISTS (SELECT 1 FROM `+r.table+` r WHERE r.recording_id = m.recording_id AND `+r.where+`
			AND `+r.principal+` IN (SELECT value FROM json_each(?)))`)
		args = append(args, string(mine))
	}
	return `(` + strings.Join(terms, " OR ") + `)`, args, nil
}

// Showing is a way by which the service showed a revision.
type Showing struct {
	Account string
	Source  Source
}

// ShownBy returns by which ways the service itself showed a meeting's current
// part: none for a part that only an imported file holds.
func (a *Archive) ShownBy(ctx context.Context, id int64, part api.Part) ([]Showing, error) {
	ways, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, way *Showing) error {
		return rows.Scan(&way.Account, &way.Source)
	}, `SELECT o.account, o.source FROM parts p JOIN observations o USING (revision_id)
		WHERE p.recording_id = ? AND p.part = ? AND o.source <> ?`, id, part, SourceImport)
	if err != nil {
		return nil, fmt.Errorf("read sources of %d: %w", id, err)
	}
	return ways, nil
}

// AccountSince returns the time at which an account's lists were first read. Meetings
// recorded before are that account's history. It is zero when none was read yet.
func (a *Archive) AccountSince(ctx context.Context, account string) (time.Time, error) {
	var first sql.NullInt64
	err := a.db.R.QueryRowContext(ctx, `SELECT min(first_at) FROM sightings WHERE account = ?`, account).Scan(&first)
	if err != nil {
		return time.Time{}, fmt.Errorf("read since when %s is read: %w", account, err)
	}
	return sqlite.NullTime(first), nil
}

// ListedBy returns the accounts whose lists have shown a meeting to their present
// holders: none for a meeting that was only delivered or imported.
func (a *Archive) ListedBy(ctx context.Context, id int64) ([]string, error) {
	accounts, err := sqlite.Column[string](ctx, a.db.R, `SELECT DISTINCT s.account FROM sightings s LEFT JOIN accounts a ON a.name = s.account
		WHERE s.recording_id = ? AND s.holder = coalesce(a.holder, 1)`, id)
	if err != nil {
		return nil, fmt.Errorf("read who lists %d: %w", id, err)
	}
	return accounts, nil
}
