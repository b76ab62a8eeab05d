package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"minutebook/internal/sqlite"
)

// Mark is a piece of small durable state of a room above, such as a cursor. A
// nil Value deletes it.
type Mark struct {
	Key   string
	Value []byte
}

// Mark returns a mark's value, nil when there is none.
func (a *Archive) Mark(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	err := a.db.R.QueryRowContext(ctx, `SELECT value FROM marks WHERE key = ?`, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read mark %s: %w", key, err)
	}
	return value, nil
}

// Marks returns all marks whose key begins with prefix.
func (a *Archive) Marks(ctx context.Context, prefix string) (map[string][]byte, error) {
	marks, err := sqlite.Map[string, []byte](ctx, a.db.R, `SELECT key, value FROM marks
		WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 ORDER BY key`, prefix)
	if err != nil {
		return nil, fmt.Errorf("read marks %s: %w", prefix, err)
	}
	return marks, nil
}

// SetMarks sets and deletes marks in one durable transaction.
func (a *Archive) SetMarks(ctx context.Context, marks ...Mark) error {
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error { return setMarks(ctx, tx, marks) })
}

func setMarks(ctx context.Context, tx *sql.Tx, marks []Mark) error {
	for _, m := range marks {
		var err error
		if m.Value == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM marks WHERE key = ?`, m.Key)
		} else {
			_, err = tx.ExecContext(ctx, `INSERT INTO marks (key, value) VALUES (?, ?)
				ON CONFLICT (key) DO UPDATE SET value = excluded.value`, m.Key, m.Value)
		}
		if err != nil {
			return fmt.Errorf("set mark %s: %w", m.Key, err)
		}
	}
	return nil
}

// LoadBudget and SaveBudget keep a connection's rate budget (api.BudgetStore).
func (a *Archive) LoadBudget(ctx context.Context, connection string) ([]byte, error) {
	return a.Mark(ctx, "budget/"+connection)
}

// SaveBudget is durable when it returns.
func (a *Archive) SaveBudget(ctx context.Context, connection string, state []byte) error {
	return a.SetMarks(ctx, Mark{"budget/" + connection, state})
}

// LoadToken and SaveToken keep an account's OAuth token (api.TokenStore).
func (a *Archive) LoadToken(ctx context.Context, account string) ([]byte, error) {
	return a.Mark(ctx, "token/"+account)
}

// SaveToken is durable when it returns, so that a rotated refresh token is
// never lost.
func (a *Archive) SaveToken(ctx context.Context, account string, token []byte) error {
	return a.SetMarks(ctx, Mark{"token/" + account, token})
}
