package access

import (
	"context"
	"database/sql"
	"fmt"
)

type actingKey struct{}

// ActingAs returns a context in which a person changes something, as they were when their
// session or token was read. A change of people, invitations, ways to sign in, tokens and
// accounts then fails with [ErrNoSession] when the session, or one of the person's ways to sign
// in, or an address of theirs ended since, or when the person was removed or is another kind of
// admin: whoever is signed out finishes nothing that they had begun.
func ActingAs(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, actingKey{}, p)
}

// checkActing fails unless the person who acts, if any, may still act.
func checkActing(ctx context.Context, tx *sql.Tx) error {
	p, ok := ctx.Value(actingKey{}).(Person)
	if !ok {
		return nil
	}
	var may bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM people WHERE id = ?1 AND stamp = ?2 AND admin = ?3 AND removed_at IS NULL)
		AND (?4 = 0 OR EXISTS (SELECT 1 FROM sessions WHERE id = ?4))`, p.ID, p.stamp, p.Admin, p.session).Scan(&may)
	if err != nil {
		return fmt.Errorf("check who acts: %w", err)
	}
	if !may {
		return ErrNoSession
	}
	return nil
}

// WhileActing calls write, which changes another file, while nothing can end the right of the
// person who acts. It fails with [ErrNoSession], and does not call it, once that has ended.
// write may not use the DB.
func (d *DB) WhileActing(ctx context.Context, write func() error) error {
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := checkActing(ctx, tx); err != nil {
			return err
		}
		return write()
	})
}
