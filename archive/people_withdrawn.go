package archive

import (
	"database/sql"

	"minutebook/api"
)

// listed selects what the rows of a table in a scope name, as one JSON list.
func (t *applying) listed(l replaced) (names string, err error) {
	_, err = t.Scan(`SELECT json_group_array(`+namedBy(l.table)+`) FROM `+l.table+` WHERE `+l.scope, l.args, &names)
	return names, err
}

// namedBy is what a row of a directory list names, whichever account lists it.
func namedBy(table string) string {
	switch table {
	case "users":
		return "email"
	case "team_members":
		return "json_array(team, email)"
	default:
		return "name"
	}
}

// withdraw deletes what an account listed before, by names, and lists no longer,
// from the lists of the other accounts, since these were read earlier: one of
// them may not be read any more. What it still shows comes back when it is read
// again. An account that never listed something says nothing about it, and what
// was said here stays. So does who was deactivated: without that row, a member of
// a team would count as active. It adds the people of the rows to people.
func (t *applying) withdraw(l replaced, names string, people map[string]bool) error {
	gone := ` IN (SELECT value FROM json_each(?2) WHERE value NOT IN (SELECT ` + namedBy(l.table) + ` FROM ` + l.table + ` WHERE account = ?1))`
	others := ` WHERE account NOT IN (?1, '` + LocalAccount + `') AND `
	args := []any{l.by, names}
	switch l.table {
	case "users":
		return t.Each(`DELETE FROM users`+others+`status <> '`+api.StatusDeactivated+`' AND email`+gone+` RETURNING email`, args, addPeople(people))
	case "team_members":
		return t.Each(`DELETE FROM team_members`+others+namedBy(l.table)+gone+` RETURNING email`, args, addPeople(people))
	default: // a team takes its members with it
		if err := t.Each(`DELETE FROM team_members`+others+`team`+gone+` RETURNING email`, args, addPeople(people)); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM teams`+others+`name`+gone, args...)
		return err
	}
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
