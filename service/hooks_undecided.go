package service

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"minutebook/internal/sqlite"
)

// undecidedFor is how long a webhook waits until it is known whether its owner
// sees a meeting: an account's new meetings are listed every few minutes.
const undecidedFor = time.Hour

// readUndecided returns until when each undecided meeting waits. The webhooks of
// meetings whose time is over are skipped first.
func (r *relay) readUndecided(ctx context.Context, tx *sql.Tx) (map[int64]time.Time, error) {
	waiting := map[int64]time.Time{}
	rows, err := tx.QueryContext(ctx, `SELECT recording_id, until FROM undecided`)
	if err != nil {
		return nil, fmt.Errorf("read undecided meetings: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, until int64
		if err := rows.Scan(&id, &until); err != nil {
			return nil, fmt.Errorf("read undecided meetings: %w", err)
		}
		waiting[id] = sqlite.Time(until)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read undecided meetings: %w", err)
	}
	for id, until := range waiting {
		if r.now().Before(until) {
			continue
		}
		delete(waiting, id)
		if err := r.skip(ctx, tx, id); err != nil {
			return nil, err
		}
		if err := noteUndecided(ctx, tx, id, until, false); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// skip decides that the webhooks that are not decided do not fire for a meeting.
func (r *relay) skip(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := r.decideEvent(ctx, tx, event{recordingID: id, isNewFor: func(webhook) bool { return false }})
	return err
}

// noteUndecided notes whether a meeting waits, and until when.
func noteUndecided(ctx context.Context, tx *sql.Tx, id int64, until time.Time, waits bool) error {
	query, args := `DELETE FROM undecided WHERE recording_id = ?`, []any{id}
	if waits {
		query, args = `INSERT INTO undecided (recording_id, until) VALUES (?, ?) ON CONFLICT DO NOTHING`, append(args, until.UnixMilli())
	}
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("note that meeting %d is undecided: %w", id, err)
	}
	return nil
}

// newUnlistedTest returns a test of webhooks: whether no list has shown the meeting to
// the owner yet: no list of the owner's accounts or, where the owner has none, no list.
func (r *relay) newUnlistedTest(ctx context.Context, id int64) (func(webhook) bool, error) {
	listed, err := r.archive.ListedBy(ctx, id)
	if err != nil {
		return nil, err
	}
	people, err := r.archive.AccountPeople(ctx)
	if err != nil {
		return nil, err
	}
	return func(hook webhook) bool {
		var own []string
		for account, email := range people {
			if email == hook.email {
				own = append(own, account)
			}
		}
		if len(own) == 0 {
			return len(listed) == 0
		}
		return !slices.ContainsFunc(own, func(account string) bool { return slices.Contains(listed, account) })
	}, nil
}
