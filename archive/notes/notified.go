package notes

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// Notified returns those of some meetings that were notified for a saved search.
func (d *DB) Notified(ctx context.Context, search int64, ids []int64) (map[int64]bool, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("read which meetings were notified: %w", err)
	}
	notified, err := sqlite.Map[int64, bool](ctx, d.db.R, `SELECT recording_id, true FROM notified
		WHERE search = ? AND recording_id IN (SELECT value FROM json_each(?))`, search, string(list))
	if err != nil {
		return nil, fmt.Errorf("read which meetings were notified: %w", err)
	}
	return notified, nil
}

// SetNotified notes that meetings were notified for a saved search. It leaves out a
// meeting that was forgotten meanwhile, and fails with [archive.ErrNotFound] when the
// search is not there any more.
func (d *DB) SetNotified(ctx context.Context, search int64, ids ...int64) error {
	return d.write(ctx, "note which meetings were notified", func(tx *sql.Tx) error {
		found, err := sqlite.Column[int64](ctx, tx, `SELECT id FROM saved_searches WHERE id = ?`, search)
		if err == nil && len(found) == 0 {
			err = archive.ErrNotFound
		}
		if err != nil {
			return err
		}
		for _, id := range ids {
			err := d.checkMeeting(ctx, id)
			if errors.Is(err, archive.ErrForgotten) || errors.Is(err, archive.ErrNotFound) {
				continue
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, `INSERT OR IGNORE INTO notified (search, recording_id) VALUES (?, ?)`, search, id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SetSeen notes from where and up to where matches of a saved search were notified: its Since and
// Seen. It fails with [archive.ErrNotFound] when the query or the address was changed since the
// search was read, as other matches are notified then.
func (d *DB) SetSeen(ctx context.Context, read SavedSearch) error {
	return d.write(ctx, "note up to where matches were notified", func(tx *sql.Tx) error {
		return expectRow(tx.ExecContext(ctx, `UPDATE saved_searches SET since_epoch = ?4, since_seq = ?5, seen_epoch = ?6, seen_seq = ?7 WHERE `+asRead+` AND query = ?8`,
			read.ID, read.Notify, read.Secret, read.Since.Epoch, read.Since.Seq, read.Seen.Epoch, read.Seen.Seq, read.Query))
	})
}
