package archive

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Showing is a way by which the service showed a revision.
type Showing struct {
	Account string
	Source  Source
}

// ShownBy returns by which ways the service itself showed a meeting's current
// part: none for what only an imported file holds.
func (a *Archive) ShownBy(ctx context.Context, id int64, part api.Part) ([]Showing, error) {
	var ways []Showing
	rows, err := a.db.R.QueryContext(ctx, `SELECT o.account, o.source FROM parts p JOIN observations o USING (revision_id)
		WHERE p.recording_id = ? AND p.part = ? AND o.source <> ?`, id, part, SourceImport)
	if err == nil {
		err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
			var way Showing
			err := rows.Scan(&way.Account, &way.Source)
			ways = append(ways, way)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read sources of %d: %w", id, err)
	}
	return ways, nil
}

// AccountSince returns when an account's lists were first read: what was
// recorded before is that account's history. Zero when none was read yet.
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
	var accounts []string
	rows, err := a.db.R.QueryContext(ctx, `SELECT DISTINCT s.account FROM sightings s LEFT JOIN accounts a ON a.name = s.account
		WHERE s.recording_id = ? AND s.holder = coalesce(a.holder, 1)`, id)
	if err == nil {
		err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
			var account string
			err := rows.Scan(&account)
			accounts = append(accounts, account)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read who lists %d: %w", id, err)
	}
	return accounts, nil
}
