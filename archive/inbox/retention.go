package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// DropBodiesBefore drops the bodies of deliveries that were applied before a time, and
// callback addresses that expired before it, at most a thousand of each, in one commit,
// and returns how many bodies it dropped. Keys stay: a repeat is still known.
// Quarantined bodies stay too.
func (i *Inbox) DropBodiesBefore(ctx context.Context, before time.Time) (int, error) {
	var dropped int64
	w := &write{size: 64, do: func(ctx context.Context, conn *sql.Conn) error {
		res, err := conn.ExecContext(ctx, `UPDATE deliveries SET body = NULL, header = '' WHERE id IN (
			SELECT id FROM deliveries WHERE state = 'applied' AND body IS NOT NULL AND settled_at < ?
			ORDER BY settled_at LIMIT 1000)`, toMillis(before))
		if err != nil {
			return fmt.Errorf("drop bodies: %w", err)
		}
		if _, err := conn.ExecContext(ctx, `DELETE FROM callbacks WHERE token_hash IN (
			SELECT token_hash FROM callbacks WHERE expires_at < ? ORDER BY expires_at LIMIT 1000)`, toMillis(before)); err != nil {
			return fmt.Errorf("drop callbacks: %w", err)
		}
		dropped, err = res.RowsAffected()
		return err
	}}
	if err := i.submit(ctx, w); err != nil {
		return 0, err
	}
	return int(dropped), nil
}

// RunBodyRetention drops bodies once they are older than keep by the confirmed time, now and
// every hour until ctx ends or the inbox is closed, and returns ctx's error or ErrClosed.
func (i *Inbox) RunBodyRetention(ctx context.Context, keep time.Duration) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		for {
			n := 0
			now, err := i.confirmedTime(ctx)
			if err == nil {
				n, err = i.DropBodiesBefore(ctx, now.Add(-keep))
			}
			if ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return errors.Join(ctx.Err(), err)
			}
			if err != nil {
				i.log.Error().Err(err).Msg("drop bodies of applied deliveries")
			}
			if n < 1000 {
				break
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
