package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/sqlite"
)

const rebuildChunk = 50 // meetings a transaction

// Rebuild decides the current parts again by the rules of package merge and derives
// every row from them, meeting by meeting. An undamaged archive has the same content
// afterwards, and nothing in its change log. Damaged rows and parts are repaired as
// long as the revisions are undamaged. It can be interrupted at any time and begun
// again. progress, which may be nil, is called after every chunk.
func (a *Archive) Rebuild(ctx context.Context, progress func(done, total int)) error {
	ids, err := a.rebuildIDs(ctx)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	for done := 0; done < len(ids); {
		chunk := ids[done:min(done+rebuildChunk, len(ids))]
		decoded, err := a.decodeAhead(ctx, chunk)
		if err != nil {
			return fmt.Errorf("rebuild: %w", err)
		}
		_, err = a.change(ctx, func(tx *sql.Tx) error {
			t := newApplying(a, sqlite.NewStatements(ctx, tx))
			t.decoded = decoded
			for _, id := range chunk {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := t.rebuildMeeting(id); err != nil {
					return fmt.Errorf("meeting %d: %w", id, err)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("rebuild: %w", err)
		}
		done += len(chunk)
		if progress != nil {
			progress(done, len(ids))
		}
	}
	return nil
}

// derivedTables hold rows by recording_id that are derived from parts alone.
var derivedTables = [...]string{"invitees", "summaries", "action_items", "highlights", "crm_matches", "meeting_speakers"}

// rebuildIDs drops rows without a meeting and returns all meetings: those with a revision, a
// part, a sighting or a recording. It makes the rows of meetings that are missing.
func (a *Archive) rebuildIDs(ctx context.Context) ([]int64, error) {
	var ids []int64
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		const shownIDs = `(SELECT recording_id FROM revisions UNION SELECT recording_id FROM parts
			UNION SELECT recording_id FROM sightings UNION SELECT recording_id FROM attachments)`
		if _, err := t.Exec(`DELETE FROM meetings WHERE recording_id NOT IN ` + shownIDs); err != nil {
			return err
		}
		for _, table := range derivedTables {
			if _, err := t.Exec(`DELETE FROM ` + table + ` WHERE recording_id NOT IN ` + shownIDs); err != nil {
				return err
			}
		}
		var err error
		ids, err = sqlite.Column[int64](t.Context(), t, `SELECT * FROM `+shownIDs+` ORDER BY 1`)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := t.Exec(insertMeeting, id); err != nil {
				return err
			}
		}
		if err := t.dropLooseEntries(); err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM speakers WHERE id NOT IN (SELECT speaker_id FROM meeting_speakers)
			AND id NOT IN (SELECT speaker_id FROM entries)`)
		return err
	})
	return ids, err
}

// dropLooseEntries deletes entries outside of the ranges of the meetings.
func (t *applying) dropLooseEntries() error {
	numbers, err := sqlite.Column[int64](t.Context(), t, `SELECT DISTINCT e.id >> 20 FROM entries e
		WHERE NOT EXISTS (SELECT 1 FROM meetings WHERE number = e.id >> 20)`)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if _, err := t.Exec(`DELETE FROM entries WHERE id BETWEEN ? AND ?`, n<<20, n<<20+maxEntries-1); err != nil {
			return err
		}
	}
	return nil
}

func (t *applying) rebuildMeeting(id int64) error {
	for _, reset := range []string{
		`UPDATE meetings SET has_transcript = 0, has_summary = 0, has_action_items = 0, has_highlights = 0,
			has_crm_matches = 0, entries = 0, words = 0 WHERE recording_id = ?`,
		`DELETE FROM summaries WHERE recording_id = ?`,
		`DELETE FROM crm_matches WHERE recording_id = ?`,
		`UPDATE revisions SET
			read_at = coalesce((SELECT max(last_order) FROM observations WHERE revision_id = id AND source NOT IN ('webhook', 'import')), 0),
			told_at = coalesce((SELECT max(last_order) FROM observations WHERE revision_id = id AND source IN ('webhook', 'import')), 0)
			WHERE recording_id = ?`,
	} {
		if _, err := t.Exec(reset, id); err != nil {
			return err
		}
	}
	for _, part := range api.Parts() {
		moved, err := t.redecide(id, part)
		if err == nil && moved {
			err = t.logChange(id, ChangePart, part)
		}
		if err != nil {
			return fmt.Errorf("part %s: %w", part, err)
		}
	}
	if _, err := t.Exec(deriveGone, id); err != nil {
		return err
	}
	if err := t.deriveOutside(id, "", false); err != nil {
		return err
	}
	return deriveMedia(t.Context(), t.Tx(), id)
}

// redecide decides a part among all its versions and derives its rows, none when it
// has no version. moved reports whether the current part changed.
func (t *applying) redecide(id int64, part api.Part) (moved bool, err error) {
	versions, err := t.readCountedVersions(id, part)
	if err != nil {
		return false, err
	}
	if len(versions) == 0 {
		switch part {
		case api.PartSummary, api.PartCRM:
			return false, nil // their rows were deleted
		case api.PartMeeting:
			return false, t.deriveMerged(id, merge.Result{})
		}
		return false, t.derive(id, part, nil)
	}
	f, entries, err := t.mergeVersions(id, part, versions)
	if err != nil {
		return false, err
	}
	var previous sql.NullInt64
	var wasFolded sql.NullString
	if _, err := t.Scan(`SELECT revision_id, folded FROM parts WHERE recording_id = ? AND part = ?`,
		[]any{id, part}, &previous, &wasFolded); err != nil {
		return false, err
	}
	switch {
	case entries != nil:
		err = t.deriveTranscript(id, entries)
	case part == api.PartMeeting:
		err = t.deriveMerged(id, f)
	default:
		err = t.derive(id, part, f.Raw)
	}
	if err != nil {
		return false, err
	}
	now := mergedColumn(f)
	if previous.Int64 == f.Base && wasFolded == now {
		return false, nil
	}
	return true, t.setCurrent(id, part, f.Base, now)
}

// mergeVersions merges the versions of a part. It returns the entries of a
// transcript that was decoded ahead.
func (t *applying) mergeVersions(id int64, part api.Part, versions []*merge.Version) (merge.Result, []api.TranscriptEntry, error) {
	if part == api.PartTranscript {
		best := merge.Greatest(versions).ID
		if entries, ok := t.decoded[best]; ok {
			return merge.Result{Base: best}, entries, nil
		}
	}
	f, err := t.archive.mergeAt(t.Context(), t.Tx(), id, part, versions, math.MaxInt64)
	return f, nil, err
}

// decodeAhead decodes the transcripts of meetings on all processors, which is most of
// the work of deriving their rows. It skips unreadable ones, whose error is reported
// when their rows are derived.
func (a *Archive) decodeAhead(ctx context.Context, ids []int64) (map[int64][]api.TranscriptEntry, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("decode transcripts: %w", err)
	}
	var mu sync.Mutex
	transcripts := make(map[int64][]api.TranscriptEntry, len(ids))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var id int64
		var encoding int
		var body []byte
		if err := rows.Scan(&id, &encoding, &body); err != nil {
			return err
		}
		g.Go(func() error {
			raw, err := a.codec.unpack(encoding, body)
			if err != nil {
				return nil
			}
			entries := readEntries(raw)
			mu.Lock()
			defer mu.Unlock()
			if entries != nil {
				transcripts[id] = entries
			}
			return nil
		})
		return nil
	}, `SELECT r.id, b.encoding, b.body FROM revisions r JOIN bodies b ON b.revision_id = r.id
		WHERE r.recording_id IN (SELECT value FROM json_each(?)) AND r.part = 'transcript'`, string(list))
	return transcripts, errors.Join(err, g.Wait())
}
