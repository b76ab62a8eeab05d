package service

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// clampTimes sets times that lie in the future, written while the clock was ahead,
// to now, so that no webhook, download or delivery waits until that day comes, and no code
// or token lives until then. It keeps the times since which meetings are new: the clock
// may be behind instead, see restoreTimes.
func (s *Service) clampTimes(ctx context.Context) error {
	now := s.now()
	return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		for _, query := range []string{
			`INSERT INTO future_times SELECT id, max(created_at, coalesce(enabled_at, 0)) AS at FROM webhooks WHERE at > ?1 ON CONFLICT DO NOTHING`,
			`UPDATE webhooks SET created_at = ?1 WHERE created_at > ?1`,
			`UPDATE webhooks SET enabled_at = ?1 WHERE enabled_at > ?1`,
			`UPDATE webhooks SET failing_since = ?1 WHERE failing_since > ?1`,
			`UPDATE webhooks SET failed_at = ?1 WHERE failed_at > ?1`,
			`UPDATE undecided SET until = ?1 + ?2 WHERE until > ?1 + ?2`,
			`UPDATE deliveries SET next_at = ?1 + max(0, next_at - coalesce(last_at, created_at)), created_at = min(created_at, ?1), last_at = min(last_at, ?1)
				WHERE state = 'pending' AND coalesce(last_at, created_at) > ?1 AND next_at > ?1`,
			`UPDATE downloads SET ready_at = ?1 + (ready_at - created_at), created_at = ?1 WHERE created_at > ?1`, // expires_at is in links
			`UPDATE auth_codes SET expires_at = ?1 + ?3 WHERE expires_at > ?1 + ?3`,
			`UPDATE access_tokens SET expires_at = ?1 + ?4 WHERE expires_at > ?1 + ?4`,
		} {
			if _, err := tx.ExecContext(ctx, query, now.UnixMilli(), undecidedFor.Milliseconds(), codeLife.Milliseconds(), accessLife.Milliseconds()); err != nil {
				return fmt.Errorf("correct times in the future: %w", err)
			}
		}
		return s.clampRestored(ctx, tx)
	})
}

// clampRestored sets the time from which the relay goes on to now where it lies in the future, and
// keeps it.
func (s *Service) clampRestored(ctx context.Context, tx *sql.Tx) error {
	now := s.now()
	since, err := s.store.timeSetting(ctx, restoredKey)
	if err != nil || !since.After(now) {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO future_times VALUES ('', ?) ON CONFLICT DO NOTHING`, since.UnixMilli()); err != nil {
		return fmt.Errorf("keep the time from which webhooks go on: %w", err)
	}
	return setTime(ctx, tx, restoredKey, now)
}

// restoreTimes has times that clampTimes set count again once they are past, since the clock was
// behind. It is called after a leap of the clock and at a start: where the clock only went on until
// they came, they were of a clock ahead, and the meetings of the last minutes are new.
func (s *Service) restoreTimes(ctx context.Context) error {
	now := s.now()
	var some bool
	err := s.store.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM future_times WHERE at <= ?)`, now.UnixMilli()).Scan(&some)
	if err != nil {
		return fmt.Errorf("read corrected times: %w", err)
	}
	if !some {
		return nil
	}
	return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE webhooks SET enabled_at = max(enabled_at, past.at), created_at = iif(enabled_at IS NULL, max(created_at, past.at), created_at)
			FROM (SELECT webhook_id, max(at) AS at FROM future_times WHERE at <= ? GROUP BY 1) past WHERE past.webhook_id = id`, now.UnixMilli()); err != nil {
			return fmt.Errorf("restore corrected times: %w", err)
		}
		var at sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT max(at) FROM future_times WHERE webhook_id = '' AND at <= ?`, now.UnixMilli()).Scan(&at); err != nil {
			return fmt.Errorf("read corrected times: %w", err)
		}
		since, err := s.store.timeSetting(ctx, restoredKey)
		if err != nil {
			return err
		}
		if past := sqlite.NullTime(at); past.After(since) {
			if err := setTime(ctx, tx, restoredKey, past); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM future_times WHERE at <= ?`, now.UnixMilli())
		return err
	})
}
