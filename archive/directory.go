package archive

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"minutebook/api"
)

// ChangeDirectory is logged, with no recording, when users, teams, members,
// meeting types or the owner of an account change. It changes what a person
// sees (ViewerPrincipals), not who sees a meeting (Principals).
const ChangeDirectory ChangeKind = "directory"

// LocalAccount is the account under which this program's own knowledge of the
// organisation is kept. Where accounts disagree about a name, it wins.
const LocalAccount = "local"

// PutMeetingTypes replaces the meeting types that an account shows (2.3).
func (a *Archive) PutMeetingTypes(ctx context.Context, account string, types []api.MeetingType) error {
	rows := make([][]any, 0, len(types))
	for _, t := range types {
		rows = append(rows, []any{account, t.Name, t.Status, millis(t.CreatedAt.Time)})
	}
	return a.putDirectory(ctx, "meeting_types", "account = ?", []any{account}, rows)
}

// PutTeams replaces the teams that an account shows (2.4).
func (a *Archive) PutTeams(ctx context.Context, account string, teams []api.Team) error {
	rows := make([][]any, 0, len(teams))
	for _, t := range teams {
		rows = append(rows, []any{account, t.Name, millis(t.CreatedAt.Time)})
	}
	return a.putDirectory(ctx, "teams", "account = ?", []any{account}, rows)
}

// PutTeamMembers replaces the members of one team as an account shows them
// (2.5). Team "" is for members whose team was not told.
func (a *Archive) PutTeamMembers(ctx context.Context, account, team string, members []api.TeamMember) error {
	rows := make([][]any, 0, len(members))
	for _, m := range members {
		rows = append(rows, []any{account, team, foldEmail(m.Email), m.Name, millis(m.CreatedAt.Time)})
	}
	return a.putDirectory(ctx, "team_members", "account = ? AND team = ?", []any{account, team}, rows)
}

// PutUsers replaces the users that an account shows (2.6).
func (a *Archive) PutUsers(ctx context.Context, account string, users []api.User) error {
	rows := make([][]any, 0, len(users))
	for _, u := range users {
		row, err := userRow(account, u)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return a.putDirectory(ctx, "users", "account = ?", []any{account}, rows)
}

// PutAccountPerson says whose account an account is; "" says that it is
// nobody's. What the account is shown, that person sees.
func (a *Archive) PutAccountPerson(ctx context.Context, account, email string) error {
	var rows [][]any
	if email != "" {
		rows = append(rows, []any{account, foldEmail(email)})
	}
	return a.putDirectory(ctx, "account_people", "account = ?", []any{account}, rows)
}

// putDirectory replaces the rows of a table that match scope, in one
// transaction, and logs a change when that made a difference.
func (a *Archive) putDirectory(ctx context.Context, table, scope string, scopeArgs []any, rows [][]any) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		before, err := tableText(ctx, tx, table, scope, scopeArgs)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE "+scope, scopeArgs...); err != nil {
			return err
		}
		for _, row := range rows {
			marks := strings.TrimSuffix(strings.Repeat("?, ", len(row)), ", ")
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO "+table+" VALUES ("+marks+")", row...); err != nil {
				return err
			}
		}
		after, err := tableText(ctx, tx, table, scope, scopeArgs)
		if err != nil || before == after {
			return err
		}
		return logChange(ctx, tx, 0, ChangeDirectory, "", a.now())
	})
	if err != nil {
		return fmt.Errorf("put %s: %w", strings.ReplaceAll(table, "_", " "), err)
	}
	return nil
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
	err = eachRow(rows, func(rows *sql.Rows) error {
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

// foldEmail is the form in which addresses are kept and compared.
func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// apiTime is the time of a nullable column in the service's form.
func apiTime(ms sql.NullInt64) api.Time {
	if !ms.Valid {
		return api.Time{}
	}
	return api.TimeOf(time.UnixMilli(ms.Int64))
}
