package archive

import (
	"context"
	"database/sql"
	"fmt"
	"maps"

	"minutebook/internal/sqlite"
)

// ShareLevel is the right that a share gives beyond seeing (specification 4.5).
type ShareLevel string

// The levels of a share. Only a limited one does not allow the download.
const (
	ShareLimited  ShareLevel = "limited"
	ShareStandard ShareLevel = "standard"
	ShareAdmin    ShareLevel = "admin"
)

// Share is an explicit share of a meeting with a principal.
type Share struct {
	RecordingID int64
	Principal   string
	Level       ShareLevel
}

// PutShares adds shares to those there are; a share with the same principal
// takes the new level. Each meeting whose shares differ afterwards is logged as
// ChangeVisibility.
func (a *Archive) PutShares(ctx context.Context, shares ...Share) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		changed := map[int64]bool{}
		for _, s := range shares {
			res, err := tx.ExecContext(ctx, `INSERT INTO shares (recording_id, principal, level) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET level = excluded.level WHERE level <> excluded.level`,
				s.RecordingID, s.Principal, string(s.Level))
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n > 0 {
				changed[s.RecordingID] = true
			}
		}
		return a.logVisibility(ctx, tx, changed)
	})
	if err != nil {
		return fmt.Errorf("put shares: %w", err)
	}
	return nil
}

// SetShares makes the given shares all there are of a meeting.
func (a *Archive) SetShares(ctx context.Context, id int64, shares map[string]ShareLevel) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		before, err := sqlite.Map[string, ShareLevel](ctx, tx, `SELECT principal, level FROM shares WHERE recording_id = ?`, id)
		if err != nil || maps.Equal(before, shares) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM shares WHERE recording_id = ?`, id); err != nil {
			return err
		}
		for principal, level := range shares {
			_, err := tx.ExecContext(ctx, `INSERT INTO shares (recording_id, principal, level) VALUES (?, ?, ?)`, id, principal, string(level))
			if err != nil {
				return err
			}
		}
		return a.logVisibility(ctx, tx, map[int64]bool{id: true})
	})
	if err != nil {
		return fmt.Errorf("set shares of %d: %w", id, err)
	}
	return nil
}

func (a *Archive) logVisibility(ctx context.Context, tx *sql.Tx, changed map[int64]bool) error {
	for id := range changed {
		if err := logChange(ctx, tx, id, ChangeVisibility, "", a.now()); err != nil {
			return err
		}
	}
	return nil
}
