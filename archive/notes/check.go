package notes

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// Check returns the damages of notes.db beyond those that SQLite's own check finds: rows
// of forgotten meetings, and an index of words that does not belong to the notes. A
// repair erases the rows and makes the index again.
func (d *DB) Check(ctx context.Context, repair bool) ([]archive.Damage, error) {
	remains, err := d.checkRemains(ctx, repair)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", Name, err)
	}
	// rank 1 compares the index with the notes; a query cannot do that
	err = d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO note_words (note_words, rank) VALUES ('integrity-check', 1)`)
		return err
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return remains, ctx.Err()
	case sqlite.IsPassing(err): // a lock or the disk, and no damage
		return nil, fmt.Errorf("check %s: %w", Name, err)
	}
	damage := archive.Damage{Class: archive.DamageRows, Path: d.db.Path, What: "the index of the words of notes: " + err.Error()}
	if repair {
		_, err := d.db.ExecContext(ctx, `INSERT INTO note_words (note_words) VALUES ('rebuild')`)
		damage.Repaired = err == nil
	}
	return append(remains, damage), nil
}

// checkRemains returns a damage for each forgotten meeting with rows here.
func (d *DB) checkRemains(ctx context.Context, repair bool) ([]archive.Damage, error) {
	forgotten, _, err := d.archive.Tombstones(ctx)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(forgotten)
	if err != nil {
		return nil, err
	}
	counts, err := sqlite.Map[int64, int](ctx, d.db.R, `SELECT recording_id, count(*) FROM (SELECT recording_id FROM notes UNION ALL SELECT recording_id FROM ticks UNION ALL SELECT recording_id FROM notified)
		WHERE recording_id IN (SELECT value FROM json_each(?)) GROUP BY 1`, string(list))
	if err != nil {
		return nil, err
	}
	var damages []archive.Damage
	for id, n := range counts {
		damage := archive.Damage{Class: archive.DamageForgetting, Path: d.db.Path, RecordingID: id, What: fmt.Sprintf("rows about it: %d", n)}
		damage.Repaired = repair && d.forget(ctx, id) == nil
		damages = append(damages, damage)
	}
	return damages, nil
}
