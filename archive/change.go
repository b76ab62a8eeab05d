package archive

import (
	"context"
	"database/sql"
	"time"
)

// change runs fn in one write transaction and, after its commit, moves the head
// of the change log and rings for the followers. Every exported method that
// logs changes goes through it.
func (a *Archive) change(ctx context.Context, fn func(*sql.Tx) error) (Position, error) {
	var seq int64
	err := a.db.inTx(ctx, func(tx *sql.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		var err error
		seq, err = lastSeq(ctx, tx)
		return err
	})
	if err != nil {
		return Position{}, err
	}
	return a.head.advance(seq), nil
}

// timeOf is the time of a column of milliseconds.
func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// nullTime is the time of a nullable column; null is the zero time.
func nullTime(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return timeOf(ms.Int64)
}

// millis is the reverse: a zero time is null.
func millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}
