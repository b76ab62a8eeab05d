package service

import (
	"context"
	"database/sql"
	"fmt"
)

// forget erases every row of service.db about a meeting: deliveries, downloads, a
// held-back copy; and ends the transfers under way. It is durable when it returns.
// The archive's tombstone keeps the meeting's webhooks from firing again.
func (s *Service) forget(ctx context.Context, id int64) error {
	err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"deliveries", "downloads", "held", "recordings", "undecided"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE recording_id = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget in service.db: %w", err)
	}
	if err := s.transfers.stop(ctx, id); err != nil {
		return fmt.Errorf("end what is being sent: %w", err)
	}
	return s.store.db.TruncateWAL(ctx)
}
