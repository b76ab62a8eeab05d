package archive

import (
	"context"
	"encoding/json"
	"strings"

	"minutebook/api"
)

// rule is a way in which a meeting is visible to a principal: the rows of a
// table for which it holds, and the principal of each.
type rule struct{ principal, table, where string }

// sharedInside is what shared_with decides for: what was recorded outside is
// shared with the teams of another organisation, and what is gone may have been
// made private since.
const sharedInside = `r.gone_at IS NULL AND NOT r.outside AND r.shared_with `

// rules say who sees a meeting, for all who ask. Principals tells what they mean.
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

// visibleTerm is the condition on meetings m for what a viewer sees; "" is no
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
