package notes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// Looked returns up to where in the change log a person has looked, and when; the zero
// values when never. The position may be of an epoch before a restore.
func (d *DB) Looked(ctx context.Context, person int64) (archive.Position, time.Time, error) {
	var p archive.Position
	var at int64
	err := d.db.R.QueryRowContext(ctx, `SELECT epoch, seq, looked_at FROM looked WHERE person = ?`, person).Scan(&p.Epoch, &p.Seq, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return archive.Position{}, time.Time{}, nil
	}
	if err != nil {
		return p, time.Time{}, fmt.Errorf("read up to where a person has looked: %w", err)
	}
	return p, sqlite.Time(at), nil
}

// SetLooked notes that a person has now looked up to a position, if they have not looked
// further already.
func (d *DB) SetLooked(ctx context.Context, person int64, p archive.Position) error {
	return d.write(ctx, "note up to where a person has looked", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO looked (person, epoch, seq, looked_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (person) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, looked_at = excluded.looked_at
			WHERE looked.epoch <> excluded.epoch OR looked.seq <= excluded.seq`,
			person, p.Epoch, p.Seq, d.now().UnixMilli())
		return err
	})
}
