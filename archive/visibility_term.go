package archive

import (
	"context"
	"strings"

	"minutebook/api"
)

// visibleTerm is the condition on meetings m for what a viewer sees, the same
// rule as Principals in SQL; "" is no condition.
func (a *Archive) visibleTerm(ctx context.Context, v Viewer) (string, []any, error) {
	if v.All {
		return "", nil, nil
	}
	principals, err := a.ViewerPrincipals(ctx, v)
	if err != nil {
		return "", nil, err
	}
	var terms []string
	var args, mine []any
	for _, p := range principals {
		mine = append(mine, p)
		kind, name, _ := strings.Cut(p, ":")
		switch kind {
		case "user":
			terms, args = append(terms, `lower(m.recorded_by_email) = ?`), append(args, name)
		case "team":
			terms = append(terms, `m.gone_at IS NULL AND m.shared_with = '`+api.SharedSingleTeam+`' AND m.sharing_team = ?`)
			args = append(args, name)
		case "account":
			terms = append(terms, `EXISTS (SELECT 1 FROM sightings s
				WHERE s.recording_id = m.recording_id AND s.account = ? AND s.gone_at IS NULL)`)
			args = append(args, name)
		case PrincipalEveryone:
			terms = append(terms, `m.gone_at IS NULL AND m.shared_with = '`+api.SharedAllTeams+`'`)
		case PrincipalShared:
			terms = append(terms, `m.gone_at IS NULL AND m.shared_with IN ('`+api.SharedAllTeams+`', '`+api.SharedSingleTeam+`', '`+api.SharedMultipleTeams+`')
				OR EXISTS (SELECT 1 FROM shares s WHERE s.recording_id = m.recording_id
					AND (s.principal = 'everyone' OR s.principal LIKE 'team:%'))`)
		}
	}
	if len(mine) == 0 {
		return "0", nil, nil
	}
	terms = append(terms, `EXISTS (SELECT 1 FROM shares s WHERE s.recording_id = m.recording_id
		AND s.principal IN (?`+strings.Repeat(", ?", len(mine)-1)+`))`)
	return `(` + strings.Join(terms, " OR ") + `)`, append(args, mine...), nil
}
