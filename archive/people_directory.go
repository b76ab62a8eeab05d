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

// ChangeDirectory is logged, with no recording, when users, teams, members,
// meeting types or the owner of an account change. It changes the rights
// of a person ([Archive.ViewerPrincipals]), not who sees a meeting ([Archive.Principals]).
const ChangeDirectory ChangeKind = "directory"

// LocalAccount is the account under which this program's own knowledge of the
// organisation is kept. Where accounts disagree about a name, it wins.
const LocalAccount = "local"

// A rowReplacement is the rows of a table in a scope, and the rows that take their
// place.
type rowReplacement struct {
	table, scope string
	args         []any
	rows         [][]any
	account      string // the account with this whole list; "": the list may lack rows
	set          string // the columns to set, where the rows stay
}

// PutMeetingTypes replaces the meeting types that an account shows (2.3), and those of accounts
// that are not read.
func (a *Archive) PutMeetingTypes(ctx context.Context, account string, types []api.MeetingType) error {
	rows := make([][]any, 0, len(types))
	for _, t := range types {
		rows = append(rows, []any{account, t.Name, t.Status, sqlite.Millis(t.CreatedAt.Time)})
	}
	return a.putDirectory(ctx, account, rowReplacement{table: "meeting_types", scope: "account = ?", args: []any{account}, rows: rows},
		endUnread("meeting_types", account, ""))
}

// TeamMembers are the members of one team as an account shows them (2.5). Team "" is for
// members of an unknown team.
type TeamMembers struct {
	Team    string
	Members []api.TeamMember
}

// PutTeams replaces the teams that an account shows (2.4), and in the same change the
// members of the teams in lists, as [Archive.PutTeamMembers] does: the members of a team
// that is called otherwise are members of one all the time. A team that is not among the
// teams any more, because it was deleted or is called otherwise, has no members, whichever
// account showed them. The teams and members that accounts showed which are not read any more
// end: /teams (4.7) shows all teams.
func (a *Archive) PutTeams(ctx context.Context, account string, teams []api.Team, lists ...TeamMembers) error {
	rows := make([][]any, 0, len(teams))
	names := make([]string, 0, len(teams))
	for _, t := range teams {
		rows = append(rows, []any{account, t.Name, sqlite.Millis(t.CreatedAt.Time)})
		names = append(names, t.Name)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("put teams: %w", err)
	}
	changes := []rowReplacement{
		{table: "teams", scope: "account = ?", args: []any{account}, rows: rows, account: account},
		{table: "team_members", scope: "account = ? AND team <> '' AND team NOT IN (SELECT value FROM json_each(?))", args: []any{account, string(list)}, account: account},
	}
	for _, l := range lists {
		changes = append(changes, replaceMembers(account, l))
	}
	changes = append(changes, endUnread("teams", account, ""), endUnread("team_members", account, " AND team <> ''"))
	return a.putDirectory(ctx, account, changes...)
}

func replaceMembers(account string, l TeamMembers) rowReplacement {
	rows := make([][]any, 0, len(l.Members))
	for _, m := range l.Members {
		rows = append(rows, []any{account, l.Team, api.FoldEmail(m.Email), m.Name, sqlite.Millis(m.CreatedAt.Time)})
	}
	return rowReplacement{table: "team_members", scope: "account = ? AND team = ?", args: []any{account, l.Team}, rows: rows, account: account}
}

// EndTeams drops the teams that an account showed, and their members, when the account
// may not read them any more, and reports whether there were any. Other accounts' lists stay.
func (a *Archive) EndTeams(ctx context.Context, account string) (bool, error) {
	return a.changeDirectory(ctx, account, rowReplacement{table: "teams", scope: "account = ?", args: []any{account}},
		rowReplacement{table: "team_members", scope: "account = ? AND team <> ''", args: []any{account}})
}

// PutTeamMembers replaces the members of one team. A person who has left the list is no
// member by an earlier list of another account either.
func (a *Archive) PutTeamMembers(ctx context.Context, account, team string, members []api.TeamMember) error {
	return a.putDirectory(ctx, account, replaceMembers(account, TeamMembers{team, members}), endUnread("team_members", account, " AND team = ?2", team))
}

// EndTeamMembers drops the members of all teams that an account showed, where its
// lists of them cannot be believed: neither can those of accounts that are not read any more.
func (a *Archive) EndTeamMembers(ctx context.Context, account string) error {
	return a.putDirectory(ctx, account, rowReplacement{table: "team_members", scope: "account = ? AND team <> ''", args: []any{account}},
		endUnread("team_members", account, " AND team <> ''"))
}

// PutUsers replaces the users that an account shows (2.6). Where two accounts show the
// same user, the last list decides. A row with none of the three statuses keeps the one that the
// lists had, or is an active user's, and one that lacks permissions keeps those. A user who has
// left the account's list is none by the other lists either, and neither is one whom only accounts
// showed that are not read any more. A user whose account the service refuses has been removed where the list lacks
// that user, too (5.3), and counts as deactivated; so does a deactivated user whom the list lacks
// now. It lasts until a list has the user, or an account of the user is read.
func (a *Archive) PutUsers(ctx context.Context, account string, users []api.User) error {
	rows, err := userRows(account, users)
	if err != nil {
		return err
	}
	return a.putDirectory(ctx, account, rowReplacement{table: "users", scope: "account = ?", args: []any{account}, rows: rows, account: account},
		endUnread("users", account, " AND status <> '"+api.StatusDeactivated+"'"))
}

// PutSomeUsers is PutUsers of a list that may lack users: the others stay. The other
// accounts' earlier rows of the users in it are replaced by the list's.
func (a *Archive) PutSomeUsers(ctx context.Context, account string, users []api.User) error {
	rows, err := userRows(account, users)
	if err != nil {
		return err
	}
	emails := make([]string, 0, len(users))
	for _, u := range users {
		emails = append(emails, api.FoldEmail(u.Email))
	}
	list, err := json.Marshal(emails)
	if err != nil {
		return fmt.Errorf("put users: %w", err)
	}
	return a.putDirectory(ctx, account, rowReplacement{table: "users", scope: "account = ? AND email IN (SELECT value FROM json_each(?))",
		args: []any{account, string(list)}, rows: rows})
}

// EndUsers drops the users that an account showed, which it may not read any more, and reports
// whether that changed anything.
// A user who was deactivated then still is, until a later list, the person's own key or
// [Archive.PutLocalUser] says otherwise. Only account admins may read users (2.6): the account's person is none, and
// permissions of an admin in earlier lists of other accounts are dropped too.
func (a *Archive) EndUsers(ctx context.Context, account string) (bool, error) {
	changed, err := a.changeDirectory(ctx, "", rowReplacement{table: "users", scope: "account = ? AND status <> '" + api.StatusDeactivated + "'", args: []any{account}},
		rowReplacement{table: "users", set: "settings_level = '', settings_teams = '[]', view_level = '', view_teams = '[]'",
			scope: "account <> '" + LocalAccount + "' AND settings_level = '" + api.SettingsAccountAdmin + "' AND email IN (SELECT email FROM account_people WHERE account = ?)",
			args:  []any{account}})
	if err != nil {
		return false, err
	}
	return changed, a.noteList(ctx, account, endedList, true)
}

// PutAccountPerson sets the person of an account; "" means nobody. That person sees the
// meetings that the account sees.
func (a *Archive) PutAccountPerson(ctx context.Context, account, email string) error {
	var rows [][]any
	if email != "" {
		rows = append(rows, []any{account, api.FoldEmail(email)})
	}
	return a.putDirectory(ctx, account, rowReplacement{table: "account_people", scope: "account = ?", args: []any{account}, rows: rows})
}

// putDirectory is changeDirectory for callers that need no difference.
func (a *Archive) putDirectory(ctx context.Context, account string, lists ...rowReplacement) error {
	_, err := a.changeDirectory(ctx, account, lists...)
	return err
}

// changeDirectory replaces rows in one transaction and logs a change when that made
// a difference, which it reports. Users are ranked as the last list that was read, of account,
// if it is not "".
func (a *Archive) changeDirectory(ctx context.Context, account string, lists ...rowReplacement) (changed bool, err error) {
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		before, err := directoryText(ctx, tx, lists)
		if err != nil {
			return err
		}
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		people := map[string]bool{}
		isUsers, removed := lists[0].table == "users" && account != "", ""
		if isUsers {
			if err := t.keepListed(lists[0].rows); err != nil {
				return err
			}
		}
		if isUsers && lists[0].account != "" {
			if _, err := t.Scan(removedUsers, []any{account}, &removed); err != nil {
				return err
			}
		}
		for _, l := range lists {
			if err := t.replaceRows(l, people); err != nil {
				return err
			}
		}
		if isUsers {
			list, change, args := usersList, addRemoved, []any{account, removed}
			if lists[0].account == "" {
				list, change, args = someUsersList, takeOver, lists[0].args
			}
			if account != LocalAccount {
				if _, err := t.Exec(change, args...); err != nil {
					return err
				}
			}
			if _, err := t.Exec(rankList, account, list); err != nil {
				return err
			}
			if _, err := t.Exec(`DELETE FROM directory_lists WHERE account = ? AND list = '`+endedList+`'`, account); err != nil {
				return err
			}
		}
		after, err := directoryText(ctx, tx, lists)
		if changed = before != after; err != nil || !changed {
			return err
		}
		if err := t.deriveOutsideOfPeople(people); err != nil {
			return err
		}
		return logChange(ctx, tx, 0, ChangeDirectory, "", a.now())
	})
	if err != nil {
		return false, fmt.Errorf("put %s: %w", strings.ReplaceAll(lists[0].table, "_", " "), err)
	}
	return changed, nil
}

// The readings that have a rank: of a list of users, of one that may lack users, the
// beginning of a walk, and that of the last whole walk by the key of the person with an address
// that follows. endedList says that an account may not read users any more, and
// suspendedList that the service refuses the account.
const (
	usersList     = "users"
	someUsersList = "some users"
	endedList     = "ended users"
	suspendedList = "suspended"
	keyList       = "key/"
)

func walkList(query string) string { return "walk/" + query }

// rankList makes a list the last that was read.
const rankList = `INSERT INTO directory_lists (account, list, rank) SELECT ?, ?, coalesce(max(rank), 0) + 1 FROM directory_lists WHERE true
	ON CONFLICT DO UPDATE SET rank = excluded.rank`

// takeOver copies an account's rows of some users into the rows of the other accounts.
// These stay theirs, so that a later list of theirs can withdraw the user.
const takeOver = `UPDATE users SET (name, status, created_at, settings_level, settings_teams, view_level, view_teams) =
	(SELECT n.name, n.status, n.created_at, n.settings_level, n.settings_teams, n.view_level, n.view_teams FROM users n
		WHERE n.account = ?1 AND n.email = users.email)
	WHERE account NOT IN (?1, '` + LocalAccount + `') AND email IN (SELECT value FROM json_each(?2))`

// replaceRows puts the rows in the place of those that are there, and withdraws
// those that a whole list no longer has. It adds the people of all to people.
func (t *applying) replaceRows(l rowReplacement, people map[string]bool) error {
	if l.table == "users" || l.table == "team_members" || l.table == "account_people" {
		if err := t.Each("SELECT email FROM "+l.table+" WHERE "+l.scope, l.args, addPeople(people)); err != nil {
			return err
		}
	}
	if l.set != "" {
		_, err := t.Exec("UPDATE "+l.table+" SET "+l.set+" WHERE "+l.scope, l.args...)
		return err
	}
	var names string
	if l.account != "" {
		var err error
		if names, err = t.selectNames(l); err != nil {
			return err
		}
	}
	if _, err := t.Exec("DELETE FROM "+l.table+" WHERE "+l.scope, l.args...); err != nil {
		return err
	}
	for _, row := range l.rows {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(row)), ", ")
		if _, err := t.Exec("INSERT OR REPLACE INTO "+l.table+" VALUES ("+marks+")", row...); err != nil {
			return err
		}
		switch l.table {
		case "users", "account_people":
			people[row[1].(string)] = true
		case "team_members":
			people[row[2].(string)] = true
		}
	}
	if l.account == "" || l.account == LocalAccount {
		return nil
	}
	gone, err := t.selectGone(l, names)
	if err != nil || gone == "[]" {
		return err
	}
	return t.withdraw(l, gone, people)
}

// deriveOutsideOfPeople decides again whether the meetings that these people
// recorded were recorded outside. Where there is a plain list, the known people
// decide nothing.
func (t *applying) deriveOutsideOfPeople(people map[string]bool) error {
	var ignored int
	if hasPlainList, err := t.Scan(`SELECT 1 FROM watches WHERE query = '' LIMIT 1`, nil, &ignored); hasPlainList || err != nil {
		return err
	}
	for email := range people {
		if err := t.deriveOutsideWhere(true, true, `recorder = ?`, email); err != nil {
			return err
		}
	}
	return nil
}

// apiTime is the time of a nullable column in the service's form.
func apiTime(ms sql.NullInt64) api.Time {
	if !ms.Valid {
		return api.Time{}
	}
	return api.TimeOf(time.UnixMilli(ms.Int64))
}

// OtherOrganisation returns an account that is read and belongs to another organisation of the
// service than the given one, "" where none is known. The accounts of an organisation are shown the
// same teams and meeting types (specification 4.2, 4.7): those of another one have none in common. A name
// can change between two reads, so they are told apart by their dates, where both have one. It takes
// lists that both were shown.
func (a *Archive) OtherOrganisation(ctx context.Context, account string) (other string, err error) {
	err = a.db.R.QueryRowContext(ctx, `WITH shown AS (SELECT account, 'team' AS kind, name, created_at FROM teams UNION ALL SELECT account, 'type', name, created_at FROM meeting_types),
			pairs AS (SELECT y.account, iif(x.created_at IS NULL OR y.created_at IS NULL, x.name = y.name, x.created_at = y.created_at) AS same
				FROM shown x JOIN shown y USING (kind) WHERE x.account = ?1 AND y.account NOT IN (?1, '`+LocalAccount+`'))
		SELECT coalesce((SELECT account FROM pairs WHERE `+readTerm+` GROUP BY account HAVING max(same) = 0 ORDER BY account LIMIT 1), '')`, account).Scan(&other)
	if err != nil {
		return "", fmt.Errorf("compare the organisations of accounts: %w", err)
	}
	return other, nil
}
