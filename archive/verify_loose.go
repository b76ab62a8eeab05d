package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"minutebook/internal/sqlite"
)

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
		if d.Aside, err = a.putAside(fmt.Sprintf("%d-rows.json", id), rows); err != nil {
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
	path, err := a.putAside(fmt.Sprintf("%d-rows-%d.json", s.recordingID, s.id), rows)
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
