package archive

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// meetingTables are the tables with rows of one meeting by recording_id, in the order
// of deletion. entries and speakers are handled apart. tombstones and audit stay.
var meetingTables = [...]string{
	"parts", "revisions", "meeting_speakers", "invitees", "summaries", "action_items", "highlights", "crm_matches",
	"sightings", "attachments", "failures", "shares", "downloads", "changes", "meetings",
}

// deleteRows deletes all rows of a meeting from archive.db and adds its tombstone,
// within one transaction. Freed pages are overwritten (secure_delete).
func (a *Archive) deleteRows(ctx context.Context, tx *sql.Tx, id int64, reason string) error {
	now := a.now().UnixMilli()
	t := newApplying(a, sqlite.NewStatements(ctx, tx))
	recorder, err := t.recorder(id)
	if err != nil {
		return err
	}
	for _, step := range []string{
		`INSERT INTO tombstones (recording_id, held_from, forgotten_at, blobs) SELECT ?1,
			min(?2, coalesce((SELECT min(at) FROM changes WHERE recording_id = ?1), 0)), ?2,
			(SELECT json_group_array(sha256) FROM (SELECT sha256 FROM attachments WHERE recording_id = ?1
				UNION SELECT sha256 FROM downloads WHERE recording_id = ?1 AND sha256 <> '') x WHERE NOT EXISTS
				(SELECT 1 FROM attachments y WHERE y.sha256 = x.sha256 AND y.recording_id <> ?1))`,
		`DELETE FROM marks WHERE key = 'sync/ask/' || ?1 AND ?2`, // here, so that forget does not need the room
		`DELETE FROM entries WHERE id BETWEEN (SELECT number << 20 FROM meetings WHERE recording_id = ?1)
			AND (SELECT (number << 20) + 0xfffff FROM meetings WHERE recording_id = ?1) AND ?2`,
	} {
		if _, err := t.Exec(step, id, now); err != nil {
			return err
		}
	}
	for _, table := range meetingTables {
		if _, err := t.Exec(`DELETE FROM `+table+` WHERE recording_id = ?`, id); err != nil {
			return fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	for _, step := range []string{
		`DELETE FROM speakers WHERE id NOT IN (SELECT speaker_id FROM meeting_speakers)`,
		`DELETE FROM media WHERE sha256 NOT IN (SELECT sha256 FROM attachments)`,
	} {
		if _, err := t.Exec(step); err != nil {
			return err
		}
	}
	if recorder != "" { // perhaps no plain list shows the recorder any more
		if err := t.judgeAll(false, true, `recorder = ?`, recorder); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`INSERT INTO audit (at, action, recording_id, reason, detail) VALUES (?, 'forget', ?, ?, '')`, now, id, reason); err != nil {
		return err
	}
	return logChange(ctx, tx, id, ChangeForgotten, "", sqlite.Time(now))
}
