package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
		WHERE key BETWEEN ?1 AND ?1 || char(0x10ffff) ORDER BY key`, prefix)
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
	state, err := a.Mark(ctx, "budget/"+connection)
	if state == nil && err == nil {
		state, err = a.Mark(ctx, "budget/") // of a restored archive, for all connections
	}
	return state, err
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

// Failure is a line of the ledger of failures: one for an account, class and
// object, however often it was tried.
type Failure struct {
	Account, Class, What string
	RecordingID          int64 // 0 when it is about no meeting
	First, Last          time.Time
	Tries                int
	Resolved             time.Time // zero while it is open
	Reason               string    // of the last try
	NextTry              time.Time // zero when none is planned
}

// RecordFailure notes another try of f that failed, at f.Last or now. It
// reopens a resolved failure, which then counts from this try again. Of a meeting
// that was forgotten nothing is noted.
func (a *Archive) RecordFailure(ctx context.Context, f Failure) error {
	if f.Last.IsZero() {
		f.Last = a.now()
	}
	_, err := a.db.ExecContext(ctx, `INSERT INTO failures
		(account, class, what, recording_id, first_at, last_at, tries, reason, next_try_at)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8
		WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE recording_id = ?4)
		ON CONFLICT (account, class, what) DO UPDATE SET
			recording_id = excluded.recording_id,
			first_at = iif(resolved_at IS NULL, first_at, excluded.first_at),
			tries = iif(resolved_at IS NULL, tries + 1, 1),
			last_at = excluded.last_at, reason = excluded.reason,
			next_try_at = excluded.next_try_at, resolved_at = NULL`,
		f.Account, f.Class, f.What, f.RecordingID, f.Last.UnixMilli(), f.Last.UnixMilli(), f.Reason, sqlite.Millis(f.NextTry))
	if err != nil {
		return fmt.Errorf("record failure: %w", err)
	}
	return nil
}

// ResolveFailure closes failures of an account, or of every account when account is
// empty. A failure that is not there or closed stays so.
func (a *Archive) ResolveFailure(ctx context.Context, account, class string, what ...string) error {
	list, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("resolve failure: %w", err)
	}
	const open = ` WHERE ?1 IN ('', account) AND class = ?2 AND what IN (SELECT value FROM json_each(?3)) AND resolved_at IS NULL`
	var isOpen bool // nearly none is: without a write nobody waits for the disk
	err = a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM failures`+open+`)`, account, class, string(list)).Scan(&isOpen)
	if err == nil && isOpen {
		_, err = a.db.ExecContext(ctx, `UPDATE failures SET resolved_at = ?4, next_try_at = NULL`+open, account, class, string(list), a.now().UnixMilli())
	}
	if err != nil {
		return fmt.Errorf("resolve failure: %w", err)
	}
	return nil
}

// Failures returns the ledger, latest first: the open failures only, or all.
func (a *Archive) Failures(ctx context.Context, open bool) ([]Failure, error) {
	failures, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, f *Failure) error {
		var first, last int64
		var resolved, next sql.NullInt64
		if err := rows.Scan(&f.Account, &f.Class, &f.What, &f.RecordingID, &first, &last,
			&f.Tries, &resolved, &f.Reason, &next); err != nil {
			return err
		}
		f.First, f.Last, f.Resolved, f.NextTry = sqlite.Time(first), sqlite.Time(last), sqlite.NullTime(resolved), sqlite.NullTime(next)
		return nil
	}, `SELECT account, class, what, recording_id, first_at, last_at,
		tries, resolved_at, reason, next_try_at FROM failures
		WHERE NOT ? OR resolved_at IS NULL ORDER BY last_at DESC, account, class, what`, open)
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	return failures, nil
}
