package archive

import (
	"context"
	"database/sql"
)

// change runs fn in one write transaction and, after its commit, moves the head
// of the change log and rings for the followers. Every exported method that
// logs changes goes through it.
func (a *Archive) change(ctx context.Context, fn func(*sql.Tx) error) (Position, error) {
	var seq int64
	err := a.db.WriteTx(ctx, func(tx *sql.Tx) error {
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
