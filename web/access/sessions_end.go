package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Sessions returns the open sessions of a person, the one used last first.
func (d *DB) Sessions(ctx context.Context, person int64) ([]Session, error) {
	epoch, err := d.epoch(ctx)
	if err != nil {
		return nil, err
	}
	all, err := sqlite.List(ctx, d.db.R, func(rows *sql.Rows, s *Session) error {
		var times sessionFields
		err := rows.Scan(times.targets(s)...)
		times.finish(s)
		return err
	}, `SELECT `+sessionColumns+` FROM sessions s WHERE s.person = ? AND s.epoch = ? ORDER BY s.seen_at DESC, s.id DESC`, person, epoch)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	open := []Session{}
	now := d.now()
	for _, s := range all {
		if s.isOpen(now) {
			open = append(open, s)
		}
	}
	return open, nil
}

// SignedInState is how many sessions of a person are open, and when one was last used.
type SignedInState struct {
	Sessions int
	LastSeen time.Time
}

// openTerm is the condition on sessions that isOpen is; its values are those of openArgs.
const openTerm = `epoch = ?1 AND ?2 < expires_at AND ?2 >= created_at - ?3 AND ?2 < seen_at + ?4 AND ?2 >= seen_at - ?3`

func (d *DB) openArgs(ctx context.Context) ([]any, error) {
	epoch, err := d.epoch(ctx)
	return []any{epoch, d.now().UnixMilli(), clockSlack.Milliseconds(), SessionIdle.Milliseconds()}, err
}

// SignedInStates returns the state of those of some people who have an open session, or
// without any of everybody, by person.
func (d *DB) SignedInStates(ctx context.Context, people ...int64) (map[int64]SignedInState, error) {
	args, err := d.openArgs(ctx)
	if err != nil {
		return nil, err
	}
	where := openTerm
	if len(people) > 0 {
		list, err := json.Marshal(people)
		if err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
		where, args = where+` AND person IN (SELECT value FROM json_each(?5))`, append(args, string(list))
	}
	states := map[int64]SignedInState{}
	err = sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
		var person, seen int64
		var state SignedInState
		err := rows.Scan(&person, &state.Sessions, &seen)
		state.LastSeen = sqlite.Time(seen)
		states[person] = state
		return err
	}, `SELECT person, count(*), max(seen_at) FROM sessions WHERE `+where+` GROUP BY person`, args...)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return states, nil
}

// CountSessions returns how many sessions are open.
func (d *DB) CountSessions(ctx context.Context) (n int, err error) {
	args, err := d.openArgs(ctx)
	if err == nil {
		err = d.db.R.QueryRowContext(ctx, `SELECT count(*) FROM sessions WHERE `+openTerm, args...).Scan(&n)
	}
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return n, nil
}

// EndSession ends one session of a person. It fails with [ErrNoSession] when the
// person has no such session.
func (d *DB) EndSession(ctx context.Context, by Actor, person, session int64) error {
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE id = ? AND person = ?`, session, person)
		if err != nil {
			return fmt.Errorf("end session: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNoSession)
		}
		return d.record(ctx, tx, Event{Actor: by, Kind: SignedOut, IDs: IDs{Person: person, Session: session}})
	})
}

// EndSessions ends all sessions of a person and returns their number.
func (d *DB) EndSessions(ctx context.Context, by Actor, person int64) (ended int64, err error) {
	err = d.changePerson(ctx, by, SessionsEnded, person, func(tx *sql.Tx, _ Person) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE person = ?`, person)
		if err == nil {
			ended, err = done.RowsAffected()
		}
		if err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		return changeStamp(ctx, tx, person)
	})
	return ended, err
}

// changeStamp keeps sign-ins that are under way from beginning a session.
func changeStamp(ctx context.Context, tx *sql.Tx, person int64) error {
	if _, err := tx.ExecContext(ctx, `UPDATE people SET stamp = stamp + 1 WHERE id = ?`, person); err != nil {
		return fmt.Errorf("end sign-ins: %w", err)
	}
	return nil
}

// Sweep deletes the rows that open nothing any more at a time: sessions that have ended, and
// invitations that ended a session's life ago. The daemon calls it daily.
func (d *DB) Sweep(ctx context.Context, now time.Time) error {
	epoch, err := d.epoch(ctx)
	if err != nil {
		return err
	}
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE expires_at <= ? OR seen_at <= ? OR epoch <> ?`,
			now.UnixMilli(), now.Add(-SessionIdle).UnixMilli(), epoch)
		if err != nil {
			return fmt.Errorf("sweep sessions: %w", err)
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM invitations WHERE expires_at <= ?`, now.Add(-SessionLife).UnixMilli()); err != nil {
			return fmt.Errorf("sweep invitations: %w", err)
		}
		return nil
	})
}
