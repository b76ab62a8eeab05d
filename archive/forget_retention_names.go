package archive

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"minutebook/internal/nearest"
	"minutebook/internal/sqlite"
)

// UnknownName is a team or a meeting type that a rule names, and that neither a meeting
// nor the service's list has: by it the rule fits no meeting.
type UnknownName struct {
	Rule    int    `json:"rule"` // the first rule is 1
	Kind    string `json:"kind"` // team or meeting type
	Name    string `json:"name"`
	Nearest string `json:"nearest,omitempty"` // the one that may be meant
}

// String says so to a person.
func (n UnknownName) String() string {
	text := fmt.Sprintf("retention rule %d names the %s %q, which no meeting has", n.Rule, n.Kind, n.Name)
	if n.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", n.Nearest)
	}
	return text
}

// UnknownNames returns the names in rules that nothing has. An archive without meetings
// knows none yet, and nothing is returned.
func (a *Archive) UnknownNames(ctx context.Context, rules []RetentionRule) (unknown []UnknownName, err error) {
	for _, list := range []struct {
		kind, query string
		names       func(RetentionRule) []string
	}{
		{"team", `SELECT DISTINCT recorded_by_team FROM meetings WHERE recorded_by_team <> '' UNION SELECT name FROM teams`,
			func(r RetentionRule) []string { return r.Teams }},
		{"meeting type", `SELECT DISTINCT meeting_type FROM meetings WHERE meeting_type <> '' UNION SELECT name FROM meeting_types`,
			func(r RetentionRule) []string { return r.Types }},
	} {
		if !slices.ContainsFunc(rules, func(r RetentionRule) bool { return len(list.names(r)) > 0 }) {
			continue
		}
		var known []string
		err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			known = append(known, name)
			return err
		}, list.query)
		if err != nil {
			return nil, fmt.Errorf("list each %s: %w", list.kind, err)
		}
		for i, r := range rules {
			for _, name := range list.names(r) {
				if len(known) > 0 && !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
					unknown = append(unknown, UnknownName{Rule: i + 1, Kind: list.kind, Name: name, Nearest: nearest.Word(name, known)})
				}
			}
		}
	}
	return unknown, nil
}
