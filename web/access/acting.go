package access

import (
	"context"
	"database/sql"
	"fmt"
)

type actingKey struct{}

// ActingAs returns a context in which a person changes something, as they were when their
// session or token was read. A change of people, invitations, ways to sign in, tokens and
// accounts then fails with [ErrNoSession] when one of the person's ways to sign in ended
// since, or when the person was removed or is another kind of admin: whoever is signed out
// finishes nothing that they had begun.
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
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM people WHERE id = ? AND stamp = ? AND admin = ? AND removed_at IS NULL)`,
		p.ID, p.stamp, p.Admin).Scan(&may)
	if err != nil {
		return fmt.Errorf("check who acts: %w", err)
	}
	if !may {
		return ErrNoSession
	}
	return nil
}
