package archive

import (
	"database/sql"

	"minutebook/api"
)

// selectNames returns the names in the rows of a table in a scope, as one JSON list.
func (t *applying) selectNames(l rowReplacement) (names string, err error) {
	_, err = t.Scan(`SELECT json_group_array(`+nameColumn(l.table)+`) FROM `+l.table+` WHERE `+l.scope, l.args, &names)
	return names, err
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

// withdraw deletes entries that an account listed before, by names, and no longer lists
// from the other accounts' lists, since these were read earlier and may not be read any
// more. An entry that another list still shows comes back with its next read. An account
// that never listed an entry does not withdraw it. Local entries stay, and so do
// deactivated users: without the row, a member of a team would count as active.
// withdraw adds the people of the rows to people.
func (t *applying) withdraw(l rowReplacement, names string, people map[string]bool) error {
	gone := ` IN (SELECT value FROM json_each(?2) WHERE value NOT IN (SELECT ` + nameColumn(l.table) + ` FROM ` + l.table + ` WHERE account = ?1))`
	condition := ` WHERE account NOT IN (?1, '` + LocalAccount + `') AND `
	args := []any{l.account, names}
	switch l.table {
	case "users":
		return t.Each(`DELETE FROM users`+condition+`status <> '`+api.StatusDeactivated+`' AND email`+gone+` RETURNING email`, args, addPeople(people))
	case "team_members":
		return t.Each(`DELETE FROM team_members`+condition+nameColumn(l.table)+gone+` RETURNING email`, args, addPeople(people))
	default: // a team takes its members with it
		if err := t.Each(`DELETE FROM team_members`+condition+`team`+gone+` RETURNING email`, args, addPeople(people)); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM teams`+condition+`name`+gone, args...)
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
