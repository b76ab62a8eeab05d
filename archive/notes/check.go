package notes

import (
	"context"
	"encoding/json"
	"fmt"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// Check returns the damages of notes.db beyond those that SQLite's own check finds: rows of
// forgotten meetings. A repair erases them.
func (d *DB) Check(ctx context.Context, repair bool) (damages []archive.Damage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("check %s: %w", Name, err)
		}
	}()
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
	for id, n := range counts {
		damage := archive.Damage{Class: archive.DamageForgetting, Path: d.db.Path, RecordingID: id, What: fmt.Sprintf("rows about it: %d", n)}
		damage.Repaired = repair && d.forget(ctx, id) == nil
		damages = append(damages, damage)
	}
	return damages, nil
}
