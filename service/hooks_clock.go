package service

import (
	"context"
	"database/sql"
	"fmt"
)

// clampTimes sets times that lie in the future, written while the clock was ahead,
// to now, so that no webhook and no delivery waits until that day comes.
func (s *Service) clampTimes(ctx context.Context) error {
	now := s.now()
	return s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		for query, args := range map[string][]any{
			`UPDATE webhooks SET created_at = ?1 WHERE created_at > ?1`:                                                                                 {now.UnixMilli()},
			`UPDATE webhooks SET enabled_at = ?1 WHERE enabled_at > ?1`:                                                                                 {now.UnixMilli()},
			`UPDATE webhooks SET failing_since = ?1 WHERE failing_since > ?1`:                                                                           {now.UnixMilli()},
			`UPDATE webhooks SET failed_at = ?1 WHERE failed_at > ?1`:                                                                                   {now.UnixMilli()},
			`UPDATE undecided SET until = ?1 WHERE until > ?1`:                                                                                          {now.Add(undecidedFor).UnixMilli()},
			`UPDATE deliveries SET next_at = ?1 WHERE state = 'pending' AND kind <> 'download' AND coalesce(last_at, created_at) > ?1 AND next_at > ?1`: {now.UnixMilli()},
		} {
			if _, err := tx.ExecContext(ctx, query, args...); err != nil {
				return fmt.Errorf("correct times in the future: %w", err)
			}
		}
		since, err := s.store.timeSetting(ctx, restoredKey)
		if err != nil || !since.After(now) {
			return err
		}
		return setTime(ctx, tx, restoredKey, now)
	})
}
