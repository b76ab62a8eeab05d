package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/internal/sqlite"
	"minutebook/internal/sqlite/dump"
)

const (
	distinct = 1000 // meetings, at most; the rest are copies of them
	each     = 10   // of so many meetings one has two versions
)

// meetingTables have the rows of a meeting, with the columns that number them.
var meetingTables = map[string][]string{
	"meetings": {"recording_id", "number"}, "parts": {"recording_id", "revision_id"}, "revisions": {"id", "recording_id"},
	"bodies": {"revision_id"}, "observations": {"revision_id"}, "entries": {"id"}, "meeting_speakers": {"recording_id"},
	"invitees": {"recording_id"}, "summaries": {"recording_id"}, "action_items": {"recording_id"}, "highlights": {"recording_id"},
	"crm_matches": {"recording_id"}, "sightings": {"recording_id"}, "changes": {"seq", "recording_id"},
}

// fill makes a data directory as 0.9.0 has left it, with so many meetings at least. It makes a
// small archive for that.
func fill(ctx context.Context, data, small string, want int64) (meetings, several int64, err error) {
	distinct := min(want, distinct)
	if err := fillSmall(ctx, small, int(distinct)); err != nil {
		return 0, 0, err
	}
	if err := os.MkdirAll(filepath.Join(data, "media"), 0o700); err != nil {
		return 0, 0, err
	}
	if err := os.WriteFile(filepath.Join(data, "media", "archive-id"), nil, 0o600); err != nil {
		return 0, 0, err
	}
	from, to := filepath.Join(small, "archive.db"), filepath.Join(data, "archive.db")
	if err := dump.Restore("archive/testdata/schemas/0.9.0.sql", to); err != nil {
		return 0, 0, err
	}
	keys, err := prepare(ctx, from, to, distinct)
	if err != nil {
		return 0, 0, err
	}
	copies := (want + distinct - 1) / distinct
	if err := dump.Repeat(ctx, to, from, 0, 0, dump.Keys{"speakers": nil}); err != nil {
		return 0, 0, err
	}
	if err := dump.Repeat(ctx, to, from, 0, copies-1, keys); err != nil {
		return 0, 0, err
	}
	return copies * distinct, copies * (distinct / each), os.RemoveAll(small)
}

// fillSmall makes an archive in the present schema, with meetings of 300 entries.
func fillSmall(ctx context.Context, dir string, meetings int) (err error) {
	texts, err := corpus.Dir()
	if err != nil {
		return err
	}
	resampled, err := corpus.NewResampler(texts, 1)
	if err != nil {
		return err
	}
	resampled.Mean = true
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	for number := 1; number <= meetings; number++ {
		m := resampled.Meeting(number)
		versions := map[string]string{"first": m.Title}
		if number%each == 0 {
			versions["second"] = m.Title + ", moved"
		}
		var batch []archive.Observation
		for account, title := range versions {
			m.Title = title
			raw, err := json.Marshal(m)
			if err != nil {
				return err
			}
			o, err := archive.FromMeeting(account, archive.SourceList, time.Now(), raw)
			if err != nil {
				return err
			}
			batch = append(batch, o)
		}
		if _, err := a.Apply(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// prepare takes the frozen archive's own meetings away, and from the small one the columns that
// older rules of merging cannot have decided. It returns the numbers that lie between two copies.
func prepare(ctx context.Context, small, frozen string, meetings int64) (dump.Keys, error) {
	db := sqlite.Connect(small, "?mode=rw", nil)
	defer db.Close()
	var revisions, changes int64
	err := db.QueryRowContext(ctx, `SELECT (SELECT max(id) FROM revisions), (SELECT max(seq) FROM changes)`).Scan(&revisions, &changes)
	if err == nil {
		_, err = db.ExecContext(ctx, `UPDATE parts SET folded = NULL`)
	}
	if err != nil {
		return nil, err
	}
	to := sqlite.Connect(frozen, "?mode=rw&_foreign_keys=0", nil)
	defer to.Close()
	// The other databases are not there, and no recordings.
	if _, err := to.ExecContext(ctx, `DELETE FROM info WHERE name GLOB 'database:*'; DELETE FROM speakers; DELETE FROM media; DELETE FROM attachments; DELETE FROM downloads`); err != nil {
		return nil, err
	}
	step := map[string]int64{"recording_id": meetings, "number": meetings, "id": revisions, "revision_id": revisions, "seq": changes}
	keys := dump.Keys{}
	for table, columns := range meetingTables {
		if _, err := to.ExecContext(ctx, `DELETE FROM `+table); err != nil {
			return nil, err
		}
		keys[table] = map[string]int64{}
		for _, column := range columns {
			keys[table][column] = step[column]
		}
	}
	keys["entries"]["id"] = meetings << 20 // the number of the meeting, and of the entry
	return keys, nil
}
