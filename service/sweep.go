package service

import (
	"context"
	"fmt"
	"time"

	"minutebook/internal/pause"
)

// keepExpired is how long downloads are remembered after they have expired, so
// that a late reader is told so, and how long used refresh tokens and ended callbacks
// are; keepCodes is the same for codes and access tokens.
const (
	keepExpired = 30 * 24 * time.Hour
	keepCodes   = 24 * time.Hour
)

// sweep removes, once an hour, rows that have long expired, and corrects times in the
// future.
func (s *Service) sweep(ctx context.Context) error {
	for {
		if err := s.removeExpired(ctx, s.now()); err != nil {
			return err
		}
		if err := s.clampTimes(ctx); err != nil {
			return err
		}
		s.wakeSender()
		s.reportSuccess("sweep")
		if err := pause.For(ctx, time.Hour); err != nil {
			return err
		}
	}
}

// removeExpired removes the rows that have long expired at a time.
func (s *Service) removeExpired(ctx context.Context, now time.Time) error {
	for query, before := range map[string]time.Time{
		`DELETE FROM downloads WHERE expires_at < ?`:                                                                  now.Add(-keepExpired),
		`DELETE FROM access_tokens WHERE expires_at < ?`:                                                              now.Add(-keepCodes),
		`DELETE FROM auth_codes WHERE expires_at < ?`:                                                                 now.Add(-keepCodes),
		`DELETE FROM refresh_tokens WHERE used_at < ?`:                                                                now.Add(-keepExpired),
		`DELETE FROM deliveries WHERE kind <> 'webhook' AND state <> 'pending' AND coalesce(last_at, created_at) < ?`: now.Add(-keepExpired),
	} {
		if _, err := s.store.db.ExecContext(ctx, query, before.UnixMilli()); err != nil {
			return fmt.Errorf("remove expired rows: %w", err)
		}
	}
	return nil
}
