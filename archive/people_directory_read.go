package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// localFirst orders rows so that the one that wins comes first.
const localFirst = ` ORDER BY account <> 'local', account`

// listedUsers are all users that count, and lastListed orders those of one address: first this
// program's own directory, then the list that was read last. Of an account that has left, only
// deactivated users count. A user of this program's own directory who is not deactivated does
// not count where the last list has the user as deactivated: the service has ended the person's
// rights. presentUsers has each address once.
const (
	listedUsers = `users u LEFT JOIN (SELECT account AS by, rank FROM directory_lists WHERE list = '` + usersList + `') l ON l.by = u.account
		WHERE (` + configuredTerm + ` OR status = '` + api.StatusDeactivated + `')
			AND NOT (account = '` + LocalAccount + `' AND status <> '` + api.StatusDeactivated + `' AND ` + lastStatus + ` IS '` + api.StatusDeactivated + `')`
	lastStatus = `(SELECT n.status FROM users n LEFT JOIN directory_lists k ON k.account = n.account AND k.list = '` + usersList + `'
		WHERE n.email = u.email AND n.account <> '` + LocalAccount + `' AND n.status IN ('` + api.StatusActive + `', '` + api.StatusDeactivated + `', '` + api.StatusInvited + `') AND (n.` + configuredTerm + ` OR n.status = '` + api.StatusDeactivated + `')
		ORDER BY coalesce(k.rank, 0) DESC, n.account LIMIT 1)` // of the lists alone
	lastListed   = ` ORDER BY account <> 'local', coalesce(rank, 0) DESC, account`
	presentUsers = `(SELECT * FROM (SELECT u.*, row_number() OVER (PARTITION BY email` + lastListed + `) AS place FROM ` + listedUsers + `)
		WHERE place = 1)`
)

// Types returns the meeting types of all accounts, each name once.
func (a *Archive) Types(ctx context.Context) ([]api.MeetingType, error) { return a.TypesOf(ctx, "") }

// TypesOf returns the meeting types that one account shows; "" means all.
func (a *Archive) TypesOf(ctx context.Context, account string) ([]api.MeetingType, error) {
	types, err := listDirectory(ctx, a, "meeting types", func(rows *sql.Rows, t *api.MeetingType) error {
		var at sql.NullInt64
		err := rows.Scan(&t.Name, &t.Status, &at)
		t.CreatedAt = apiTime(at)
		return err
	}, `SELECT name, status, created_at FROM meeting_types
		WHERE (?1 = '' OR account = ?1) AND `+configuredTerm+localFirst, account)
	return firstOfEach(types, func(t api.MeetingType) string { return t.Name }), err
}

// Teams returns the teams of all accounts, each name once.
func (a *Archive) Teams(ctx context.Context) ([]api.Team, error) { return a.TeamsOf(ctx, "") }

// TeamsOf returns the teams that one account shows; "" means all.
func (a *Archive) TeamsOf(ctx context.Context, account string) ([]api.Team, error) {
	teams, err := listDirectory(ctx, a, "teams", func(rows *sql.Rows, t *api.Team) error {
		var at sql.NullInt64
		err := rows.Scan(&t.Name, &at)
		t.CreatedAt = apiTime(at)
		return err
	}, `SELECT name, created_at FROM teams
		WHERE (?1 = '' OR account = ?1) AND `+configuredTerm+localFirst, account)
	return firstOfEach(teams, func(t api.Team) string { return t.Name }), err
}

// Members returns the members of a team, each person once, or, with team "",
// those of all teams.
func (a *Archive) Members(ctx context.Context, team string) ([]api.TeamMember, error) {
	members, err := listDirectory(ctx, a, "team members", scanMember, `SELECT email, name, created_at FROM team_members
		WHERE (?1 = '' OR team = ?1) AND `+configuredTerm+localFirst, team)
	return firstOfEach(members, func(m api.TeamMember) string { return m.Email }), err
}

// MembersOf returns the members of a team that one account shows.
func (a *Archive) MembersOf(ctx context.Context, account, team string) ([]api.TeamMember, error) {
	return listDirectory(ctx, a, "team members", scanMember, `SELECT email, name, created_at FROM team_members WHERE account = ? AND team = ?`,
		account, team)
}

func scanMember(rows *sql.Rows, m *api.TeamMember) error {
	var at sql.NullInt64
	err := rows.Scan(&m.Email, &m.Name, &at)
	m.CreatedAt = apiTime(at)
	return err
}

// Memberships returns the teams of every member by e-mail address.
func (a *Archive) Memberships(ctx context.Context) (map[string][]string, error) {
	teams := map[string][]string{}
	err := a.readDirectory(ctx, "memberships", `SELECT DISTINCT email, team FROM team_members WHERE team <> '' AND `+configuredTerm+` ORDER BY email, team`, nil,
		func(rows *sql.Rows) error {
			var email, team string
			if err := rows.Scan(&email, &team); err != nil {
				return err
			}
			teams[email] = append(teams[email], team)
			return nil
		})
	return teams, err
}

// Users returns the users of all accounts, each address once.
func (a *Archive) Users(ctx context.Context) ([]api.User, error) {
	return listDirectory(ctx, a, "users", scanUser, userColumns+` FROM `+presentUsers+` ORDER BY email`)
}

// UsersOf returns the users that one account shows.
func (a *Archive) UsersOf(ctx context.Context, account string) ([]api.User, error) {
	return listDirectory(ctx, a, "users", scanUser, userColumns+` FROM users WHERE account = ?`, account)
}

// User returns the user with an address; ErrNotFound when no account shows one.
func (a *Archive) User(ctx context.Context, email string) (*api.User, error) {
	found, err := listDirectory(ctx, a, "user", scanUser, userColumns+` FROM `+listedUsers+` AND email = ?`+lastListed+` LIMIT 1`, api.FoldEmail(email))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("read user: %w", ErrNotFound)
	}
	return &found[0], nil
}

// ListedStatus returns how the list of users that was read last, of those that are read still,
// calls the one with an address: "" where none does. This program's own list does not count.
func (a *Archive) ListedStatus(ctx context.Context, email string) (status string, err error) {
	err = a.db.R.QueryRowContext(ctx, `SELECT coalesce((SELECT status FROM users u LEFT JOIN (SELECT account AS by, rank FROM directory_lists WHERE list = '`+usersList+`') l ON l.by = u.account
		WHERE email = ? AND account <> '`+LocalAccount+`' AND `+readUsersTerm+` ORDER BY coalesce(rank, 0) DESC, account LIMIT 1), '')`, api.FoldEmail(email)).Scan(&status)
	if err != nil {
		return "", fmt.Errorf("read the listed status of a user: %w", err)
	}
	return status, nil
}

// AccountPeople returns whose account each account is.
func (a *Archive) AccountPeople(ctx context.Context) (map[string]string, error) {
	people, err := sqlite.Map[string, string](ctx, a.db.R, `SELECT account, email FROM account_people WHERE `+configuredTerm)
	if err != nil {
		return nil, fmt.Errorf("read owners of accounts: %w", err)
	}
	return people, nil
}

// listDirectory returns the rows of a query, never nil. subject names them in errors.
func listDirectory[T any](ctx context.Context, a *Archive, subject string, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	list, err := sqlite.List(ctx, a.db.R, scan, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	return nonNil(list), nil
}

// firstOfEach keeps the first row of each name.
func firstOfEach[T any](list []T, name func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(row T) bool {
		repeated := seen[name(row)]
		seen[name(row)] = true
		return repeated
	})
}

func (a *Archive) readDirectory(ctx context.Context, what, query string, args []any, fn func(*sql.Rows) error) error {
	err := sqlite.Each(ctx, a.db.R, fn, query, args...)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

const userColumns = `SELECT email, name, status, created_at, settings_level, settings_teams, view_level, view_teams`

func scanUser(rows *sql.Rows, u *api.User) error {
	var name sql.NullString
	var at sql.NullInt64
	var p api.Permissions
	var settingsTeams, viewTeams string
	err := rows.Scan(&u.Email, &name, &u.Status, &at, &p.SettingsAccess.Level, &settingsTeams, &p.ViewAccess.Level, &viewTeams)
	if err != nil {
		return err
	}
	u.CreatedAt = apiTime(at)
	u.Name = api.NullOf[string]()
	if name.Valid {
		u.Name = api.Some(name.String)
	}
	if p.SettingsAccess.Level == "" && p.ViewAccess.Level == "" {
		return nil
	}
	if p.SettingsAccess.Teams, err = parseNames(settingsTeams); err != nil {
		return err
	}
	p.ViewAccess.Teams, err = parseNames(viewTeams)
	u.Permissions = api.Some(p)
	return err
}

// userRows returns the rows of the table for some users. Of several users with one address the
// active one counts, since a deactivated one may have had it before, and else the first.
func userRows(account string, users []api.User) ([][]any, error) {
	rows := make([][]any, 0, len(users))
	places := map[any]int{}
	for _, u := range users {
		row, err := userRow(account, u)
		if err != nil {
			return nil, err
		}
		place, ok := places[row[1]]
		if !ok {
			places[row[1]] = len(rows)
			rows = append(rows, row)
		} else if u.Status == api.StatusActive && rows[place][3] != u.Status {
			rows[place] = row
		}
	}
	return rows, nil
}

// keepListed gives rows of a list of users that have none of the three statuses the one by which
// the lists that were read before call the address: such a row neither ends a deactivation nor takes
// away rights. A user whom no list has called anything is active. Rows of active users that lack a
// permission's level get that permission of whom the newest of those lists calls active, too.
func (t *applying) keepListed(rows [][]any) error {
	for _, row := range rows {
		status := row[3].(string)
		if !slices.Contains([]string{api.StatusActive, api.StatusDeactivated, api.StatusInvited}, status) {
			if _, err := t.Scan(`SELECT coalesce(`+lastStatus+`, '`+api.StatusActive+`') FROM (SELECT ? AS email) u`, []any{row[1]}, &status); err != nil {
				return err
			}
			row[3] = status
		}
		if status != api.StatusActive || row[0] == LocalAccount || row[5] != "" && row[7] != "" {
			continue
		}
		var known [4]string // the levels and teams
		found, err := t.Scan(`SELECT status, settings_level, settings_teams, view_level, view_teams FROM `+listedUsers+`
			AND email = ? AND account <> '`+LocalAccount+`'`+lastListed+` LIMIT 1`, []any{row[1]}, &status, &known[0], &known[1], &known[2], &known[3])
		if err != nil {
			return err
		}
		for _, level := range []int{0, 2} {
			if found && status == api.StatusActive && row[5+level] == "" {
				row[5+level], row[6+level] = known[level], known[level+1]
			}
		}
	}
	return nil
}

func userRow(account string, u api.User) ([]any, error) {
	name, named := u.Name.Get()
	p := u.Permissions.Or(api.Permissions{})
	settings, err := json.Marshal(nonNil(p.SettingsAccess.Teams))
	if err != nil {
		return nil, err
	}
	view, err := json.Marshal(nonNil(p.ViewAccess.Teams))
	if err != nil {
		return nil, err
	}
	return []any{account, api.FoldEmail(u.Email), sql.NullString{String: name, Valid: named}, u.Status, sqlite.Millis(u.CreatedAt.Time),
		p.SettingsAccess.Level, string(settings), p.ViewAccess.Level, string(view)}, nil
}

func parseNames(text string) ([]string, error) {
	names := []string{}
	err := json.Unmarshal([]byte(text), &names)
	return nonNil(names), err
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// directoryText is the text of all rows that a change of the lists can change, for
// comparing.
func directoryText(ctx context.Context, tx *sql.Tx, lists []rowReplacement) (all string, err error) {
	for _, l := range lists {
		text, err := tableText(ctx, tx, l.table, l.scope, l.args)
		if err == nil && l.table == "users" {
			var now string
			now, err = tableText(ctx, tx, presentUsers, "1 ORDER BY email", nil)
			text += now
		}
		if err != nil {
			return "", err
		}
		all += text + "\n"
	}
	return all, nil
}

// tableText is the text of a table's rows in their order, for comparing.
func tableText(ctx context.Context, tx *sql.Tx, table, scope string, args []any) (string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+table+" WHERE "+scope, args...)
	if err != nil {
		return "", err
	}
	columns, err := rows.Columns()
	if err != nil {
		rows.Close()
		return "", err
	}
	var text strings.Builder
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
		if err := rows.Scan(values...); err != nil {
			return err
		}
		for _, v := range values {
			fmt.Fprintf(&text, "%q ", fmt.Sprint(*v.(*any)))
		}
		return nil
	})
	return text.String(), err
}
