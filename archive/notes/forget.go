package notes

import (
	"context"
	"database/sql"

	"minutebook/internal/sqlite"
)

// forget erases everything about a meeting: see [archive.Archive.OnForget]. Judgements
// lose the names that no meeting has any more.
func (d *DB) forget(ctx context.Context, id int64) error {
	err := d.write(ctx, "forget in "+Name, func(tx *sql.Tx) error {
		for _, table := range []string{"notes", "ticks", "notified"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE recording_id = ?`, id); err != nil {
				return err
			}
		}
		return d.forgetNames(ctx, tx)
	})
	d.dropCaches()
	return err
}

// forgetNames deletes the names of judgements that no meeting has, and the judgements
// that are left with fewer than two.
func (d *DB) forgetNames(ctx context.Context, tx *sql.Tx) error {
	names, err := sqlite.Column[string](ctx, tx, `SELECT DISTINCT name FROM judged_names`)
	if err != nil || len(names) == 0 {
		return err
	}
	appear, err := d.namesThere(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if appear[Fold(name)] {
			continue
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM judged_names WHERE name = ?`, name); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM judgements WHERE (SELECT count(*) FROM judged_names n WHERE n.judgement = judgements.id) < 2`)
	return err
}

// namesThere returns the folded names and addresses that meetings have.
func (d *DB) namesThere(ctx context.Context) (map[string]bool, error) {
	appear := map[string]bool{}
	return appear, d.archive.EachName(ctx, func(name string) { appear[Fold(name)] = true })
}
