package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// checkRows compares every meeting's parts and rows with its revisions. It derives
// them again in a transaction, which is rolled back, or committed by a repair.
func (c *check) checkRows(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	if o.Slice == 0 {
		if err := c.checkLooseRows(ctx, o, found); err != nil {
			return err
		}
	}
	var total int
	if err := a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM meetings WHERE recording_id % ? = ?`, max(o.Slices, 1), o.Slice).Scan(&total); err != nil {
		return err
	}
	for after := int64(0); ; {
		ids, err := a.readIDs(ctx, o, after)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		differ, err := a.findDiffering(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range differ {
			d := Damage{Class: DamageRows, Path: a.db.Path, RecordingID: id, What: "its parts or rows are not what its revisions make"}
			d.Repaired = o.Repair && a.rebuildOne(ctx, id) == nil
			found(d)
		}
		c.sum.Meetings += len(ids)
		c.reportProgress("rows", c.sum.Meetings, total)
	}
}

// rebuildOne derives the rows of a meeting again and logs it as changed, since the index and other
// copies were made of the damaged rows.
func (a *Archive) rebuildOne(ctx context.Context, id int64) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		return errors.Join(t.rebuildMeeting(id), t.logChange(id, ChangePart, api.PartMeeting), t.logChange(id, ChangeVisibility, ""))
	})
	return err
}

func (a *Archive) readIDs(ctx context.Context, o VerifyOptions, after int64) ([]int64, error) {
	return sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM meetings WHERE recording_id > ? AND recording_id % ? = ?
		ORDER BY 1 LIMIT ?`, after, max(o.Slices, 1), o.Slice, verifyChunk)
}

var errUndo = errors.New("only looked")

// findDiffering returns the meetings that a rebuild would change. It skips a meeting
// that cannot be rebuilt, since its damaged part is reported by checkRevisions.
func (a *Archive) findDiffering(ctx context.Context, ids []int64) ([]int64, error) {
	var differ []int64
	decoded, err := a.decodeAhead(ctx, ids)
	if err != nil {
		return nil, err
	}
	err = a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		t.decoded, t.compareOnly = decoded, true
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				return err
			}
			before, err := t.digestRows(id, rebuiltRows())
			if err != nil {
				return err
			}
			if _, err := t.Exec(`SAVEPOINT meeting`); err != nil {
				return err
			}
			t.entriesDiffer = false
			if t.rebuildMeeting(id) == nil {
				after, err := t.digestRows(id, rebuiltRows())
				if err != nil {
					return err
				}
				if before != after || t.entriesDiffer {
					differ = append(differ, id)
				}
			}
			for _, undo := range []string{`ROLLBACK TO meeting`, `RELEASE meeting`} {
				if _, err := t.Exec(undo); err != nil {
					return err
				}
			}
			clear(t.speakers)
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return nil, err
	}
	return differ, nil
}

// rebuiltRows lists the queries of all rows that a rebuild writes, except the entries,
// which the rebuild compares itself.
func rebuiltRows() []string {
	return []string{
		`SELECT * FROM meetings WHERE recording_id = ?`,
		`SELECT * FROM parts WHERE recording_id = ?`,
		`SELECT id, read_at, counts_at, sharing_rank, told_at FROM revisions WHERE recording_id = ? ORDER BY id`,
		`SELECT s.name, s.email, x.entries, x.words FROM meeting_speakers x LEFT JOIN speakers s ON s.id = x.speaker_id
			WHERE x.recording_id = ? ORDER BY 1, 2`,
		`SELECT * FROM invitees WHERE recording_id = ?`, `SELECT * FROM summaries WHERE recording_id = ?`,
		`SELECT * FROM action_items WHERE recording_id = ?`, `SELECT * FROM highlights WHERE recording_id = ?`,
		`SELECT * FROM crm_matches WHERE recording_id = ?`,
	}
}

// digestRows returns a hash of rows of a meeting.
func (t *applying) digestRows(id int64, queries []string) ([32]byte, error) {
	h := sha256.New()
	for _, q := range queries {
		err := t.Each(q, []any{id}, func(rows *sql.Rows) error {
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			values := make([]sql.RawBytes, len(columns))
			to := make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				return err
			}
			for _, v := range values {
				fmt.Fprintf(h, "%t%d:", v == nil, len(v))
				h.Write(v)
			}
			return nil
		})
		if err != nil {
			return [32]byte{}, err
		}
		h.Write([]byte{0})
	}
	return [32]byte(h.Sum(nil)), nil
}

// checkLooseRows reports rows of meetings without parts.
func (c *check) checkLooseRows(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	const none = `recording_id NOT IN (SELECT recording_id FROM parts) AND recording_id NOT IN (SELECT recording_id FROM sightings)`
	loose := map[int64][]string{}
	for _, table := range append(derivedTables[:], "meetings", "attachments") {
		err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			loose[id] = append(loose[id], table)
			return err
		}, `SELECT DISTINCT recording_id FROM `+table+` WHERE `+none+` LIMIT 10000`)
		if err != nil {
			return err
		}
	}
	for id, tables := range loose {
		d := Damage{Class: DamageNoPart, Path: a.db.Path, RecordingID: id, What: "rows in " + strings.Join(tables, ", ") + " come from no part"}
		c.repair(ctx, &d, o, func() error { return c.repairLoose(ctx, id, &d) })
		found(d)
	}
	return nil
}

// dropLoose rebuilds a meeting that has revisions, and deletes the rows of a meeting
// that has none.
func (a *Archive) dropLoose(ctx context.Context, id int64) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		var hasRevisions bool
		if _, err := t.Scan(`SELECT EXISTS (SELECT 1 FROM revisions WHERE recording_id = ?)`, []any{id}, &hasRevisions); err != nil {
			return err
		}
		if hasRevisions {
			if _, err := t.Exec(insertMeeting, id); err != nil {
				return err
			}
			return t.rebuildMeeting(id)
		}
		var first int64
		if _, err := t.Scan(`SELECT number << 20 FROM meetings WHERE recording_id = ?`, []any{id}, &first); err != nil {
			return err
		}
		if err := t.deleteEntries(first); err != nil {
			return err
		}
		for _, table := range append(derivedTables[:], "attachments", "meetings") {
			if _, err := t.Exec(`DELETE FROM `+table+` WHERE recording_id = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// repairLoose puts aside the rows and the recordings of a meeting without revisions.
// They are all that is left of it.
func (c *check) repairLoose(ctx context.Context, id int64, d *Damage) error {
	a := c.archive
	var versions int
	if err := a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM revisions WHERE recording_id = ?1`, id).Scan(&versions); err != nil {
		return err
	}
	if versions > 0 {
		return a.dropLoose(ctx, id)
	}
	rows, err := a.readLooseRows(ctx, id)
	if err != nil {
		return err
	}
	if rows != nil {
		if d.Aside, err = a.putAside(ctx, id, "rows.json", rows); err != nil {
			return err
		}
		c.askAgain(ctx, id, "all versions of "+a.meetingName(ctx, id), true, d)
	}
	recordings, err := a.MediaOf(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range recordings {
		var isShared, exists bool
		if err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM attachments WHERE sha256 = ? AND recording_id <> ?)`, m.SHA256, id).Scan(&isShared); err != nil {
			return err
		}
		_, err := a.media.Stat(ctx, m.SHA256)
		if exists = err == nil; err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if !isShared {
			if err := a.dropRecording(ctx, m.SHA256, exists); err != nil {
				return err
			}
		}
	}
	return a.dropLoose(ctx, id)
}

// putRowsAside puts aside the rows of a meeting before they are derived again without
// a lost current version. It returns a description of the file.
func (a *Archive) putRowsAside(ctx context.Context, s stored, current bool) (string, error) {
	if !current {
		return "", nil
	}
	rows, err := a.readLooseRows(ctx, s.recordingID)
	if err != nil || rows == nil {
		return "", err
	}
	path, err := a.putAside(ctx, s.recordingID, fmt.Sprintf("rows-%d.json", s.id), rows)
	return "; the meeting's rows are kept in " + path, err
}

// readLooseRows returns the rows of a meeting as JSON by table, or nil when they have
// only its number.
func (a *Archive) readLooseRows(ctx context.Context, id int64) ([]byte, error) {
	tables := map[string][]map[string]any{}
	hasContent := false
	for _, table := range append(derivedTables[:], "attachments", "transcript_entries", "meetings") {
		err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			values, to, row := make([]any, len(columns)), make([]any, len(columns)), map[string]any{}
			for i := range values {
				to[i] = &values[i]
			}
			err = rows.Scan(to...)
			for i, name := range columns {
				row[name] = values[i]
			}
			hasContent = hasContent || table != "meetings" || row["title"] != ""
			tables[table] = append(tables[table], row)
			return err
		}, `SELECT * FROM `+table+` WHERE recording_id = ?`, id)
		if err != nil {
			return nil, err
		}
	}
	if !hasContent {
		return nil, nil
	}
	return json.MarshalIndent(tables, "", " ")
}
