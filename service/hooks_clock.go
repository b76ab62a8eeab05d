package service

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// clampTimes sets times that lie in the future, written while the clock was ahead, to now, so
// that no download or delivery waits until that day comes, and no code or token lives until
// then. Times of the relay are not among them: the clock may be behind instead, see followTimes.
func (s *Service) clampTimes(ctx context.Context) error {
	now := s.now()
	return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		for _, query := range []string{
			`UPDATE webhooks SET failing_since = ?1 WHERE failing_since > ?1`,
			`UPDATE webhooks SET failed_at = ?1 WHERE failed_at > ?1`,
			`UPDATE deliveries SET next_at = ?1 + max(0, next_at - coalesce(last_at, created_at)), created_at = min(created_at, ?1), last_at = min(last_at, ?1)
				WHERE state = 'pending' AND coalesce(last_at, created_at) > ?1 AND next_at > ?1`,
			`UPDATE downloads SET ready_at = ?1 + (ready_at - created_at), created_at = ?1 WHERE created_at > ?1`, // expires_at is in links
			`UPDATE auth_codes SET expires_at = ?1 + ?2 WHERE expires_at > ?1 + ?2`,
			`UPDATE access_tokens SET expires_at = ?1 + ?3 WHERE expires_at > ?1 + ?3`,
		} {
			if _, err := tx.ExecContext(ctx, query, now.UnixMilli(), codeLife.Milliseconds(), accessLife.Milliseconds()); err != nil {
				return fmt.Errorf("correct times in the future: %w", err)
			}
		}
		return nil
	})
}

// followTimes has the times since which meetings are new, of the relay and of webhooks, follow
// the clock. Where such a time lies in the future, the present counts instead, and is kept: the
// same counts whenever the time lies in the future again, as where the clock is ahead at times.
// The time itself counts again once it is past after a leap of the clock or a start, since the
// clock was behind; where the clock only goes on until it comes, a clock ahead wrote it, and the
// meetings of the last minutes are new. No meeting waits for the lists longer than undecidedFor.
func (r *relay) followTimes(ctx context.Context, leapt bool) error {
	now := r.now().UnixMilli()
	var times map[string]int64
	err := r.store.db.WriteTx(ctx, func(tx *sql.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, `UPDATE undecided SET until = ?1 WHERE until > ?1`, now+undecidedFor.Milliseconds()); err != nil {
			return fmt.Errorf("correct until when meetings wait: %w", err)
		}
		if times, err = r.readTimes(ctx, tx); err != nil {
			return err
		}
		for id, at := range times {
			if err := r.noteBehind(ctx, tx, id, at); err != nil {
				return err
			}
			counts := at
			if leapt {
				if counts, err = lastPast(ctx, tx, id, at, now); err != nil {
					return err
				}
			}
			if counts, err = presentFor(ctx, tx, id, counts, now); err != nil {
				return err
			}
			if counts == at {
				continue
			}
			if err := setSince(ctx, tx, id, counts); err != nil {
				return err
			}
			times[id] = counts
		}
		return nil
	})
	if err == nil {
		r.times = times
	}
	return err
}

// readTimes reads the times since which meetings are new: for each webhook and, as "", for the
// relay. It notes the latest time at which the relay ran.
func (r *relay) readTimes(ctx context.Context, tx *sql.Tx) (map[string]int64, error) {
	times, err := sqlite.Map[string, int64](ctx, tx, `SELECT id, max(created_at, coalesce(enabled_at, 0)) FROM webhooks WHERE deleted_at IS NULL`)
	if err != nil {
		return nil, fmt.Errorf("read times of webhooks: %w", err)
	}
	restored, err := r.store.timeSetting(ctx, restoredKey)
	if err != nil {
		return nil, err
	}
	followed, err := r.store.timeSetting(ctx, followedKey)
	if err != nil {
		return nil, err
	}
	times[""] = restored.UnixMilli()
	r.latest = max(r.latest, followed.UnixMilli())
	return times, nil
}

// noteBehind has a time count as the latest at which the relay ran, once that is past: it was
// written since the last step and is before that, so the clock is behind.
func (r *relay) noteBehind(ctx context.Context, tx *sql.Tx, id string, at int64) error {
	if r.times == nil || r.times[id] == at || at >= r.latest {
		return nil
	}
	_, err := presentFor(ctx, tx, id, r.latest, at)
	return err
}

// lastPast returns the last of a time and of those that were in the future once and are past.
func lastPast(ctx context.Context, tx *sql.Tx, id string, at, now int64) (last int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT max(?1, coalesce(max(at), ?1)) FROM future_times WHERE webhook_id = ?2 AND at <= ?3`, at, id, now).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("read times that were in the future: %w", err)
	}
	return last, nil
}

// presentFor returns the present that counts instead of a time in the future, and keeps it; a time
// that is past itself.
func presentFor(ctx context.Context, tx *sql.Tx, id string, at, now int64) (int64, error) {
	for at > now {
		err := tx.QueryRowContext(ctx, `INSERT INTO future_times (webhook_id, at, set_to) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET set_to = set_to RETURNING set_to`, id, at, now).Scan(&at)
		if err != nil {
			return 0, fmt.Errorf("keep a time in the future: %w", err)
		}
	}
	return at, nil
}

// setSince sets the time since which meetings are new for a webhook or, with "", for the relay.
func setSince(ctx context.Context, tx *sql.Tx, id string, at int64) error {
	if id == "" {
		return setTime(ctx, tx, restoredKey, sqlite.Time(at))
	}
	_, err := tx.ExecContext(ctx, `UPDATE webhooks SET created_at = iif(enabled_at IS NULL, ?1, min(created_at, ?1)),
		enabled_at = iif(enabled_at IS NULL, NULL, ?1) WHERE id = ?2`, at, id)
	if err != nil {
		return fmt.Errorf("correct the time of webhook %s: %w", id, err)
	}
	return nil
}
