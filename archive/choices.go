package archive

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"minutebook/internal/sqlite"
)

// Choices are the values that a list of meetings can be narrowed to.
type Choices struct {
	Types  []string // in use, by name
	Teams  []string // of recorders, by name
	People []string // recorders, and the mostChoices who spoke most, by name
}

// mostChoices is how many speakers a person still reads through.
const mostChoices = 300

// Choices reads them from what the viewer sees.
func (a *Archive) Choices(ctx context.Context, v Viewer) (Choices, error) {
	where, args, err := a.conditions(ctx, ListQuery{Viewer: v, IncludeGone: true})
	if err != nil {
		return Choices{}, fmt.Errorf("read choices: %w", err)
	}
	visible := strings.Join(append(where, "1"), " AND ")
	types, teams, people := map[string]bool{}, map[string]bool{}, map[string]bool{}
	err = a.eachString(ctx, `SELECT DISTINCT m.meeting_type, m.recorded_by_team, m.recorded_by_name
		FROM meetings m WHERE `+visible, args, func(s []string) {
		types[s[0]], teams[s[1]], people[s[2]] = true, true, true
	})
	if err != nil {
		return Choices{}, fmt.Errorf("read choices: %w", err)
	}
	args = append(args, mostChoices)
	err = a.eachString(ctx, `SELECT s.name, '', '' FROM meeting_speakers t JOIN speakers s ON s.id = t.speaker_id
		JOIN meetings m USING (recording_id) WHERE `+visible+`
		GROUP BY s.name ORDER BY sum(t.words) DESC LIMIT ?`, args, func(s []string) { people[s[0]] = true })
	if err != nil {
		return Choices{}, fmt.Errorf("read choices: %w", err)
	}
	return Choices{Types: byName(types), Teams: byName(teams), People: byName(people)}, nil
}

// eachString calls fn with each row's three strings.
func (a *Archive) eachString(ctx context.Context, query string, args []any, fn func([]string)) error {
	rows, err := a.db.R.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return sqlite.EachRow(rows, func(rows *sql.Rows) error {
		s := make([]string, 3)
		err := rows.Scan(&s[0], &s[1], &s[2])
		fn(s)
		return err
	})
}

// byName sorts names as people read them and drops the empty one.
func byName(names map[string]bool) []string {
	delete(names, "")
	return slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if c := strings.Compare(strings.ToLower(a), strings.ToLower(b)); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
}
