package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// mergeRules numbers the rules of merge.go by which the current parts of an
// archive were decided. It is kept in info.
const mergeRules = "14"

// mergeOtherAccounts stands for mergeRules in an archive whose accounts have changed since.
const mergeOtherAccounts = mergeRules + ", other accounts"

// remerge decides meetings again, in an archive of older rules: those whose part "meeting"
// has several versions, those of which several accounts were shown several versions of
// another part, and those of blankIDs and readMisjudged. It restores the values that those
// rules had blanked, and logs a change for each meeting whose rows differ. Where only the
// accounts have changed, it decides about the meetings that several accounts were shown. After
// an interruption it begins again at the next opening.
func (a *Archive) remerge(ctx context.Context) error {
	var rules string
	err := a.db.R.QueryRowContext(ctx, `SELECT value FROM info WHERE name = 'merge_rules'`).Scan(&rules)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read merge rules: %w", err)
	}
	if rules == mergeRules {
		return nil
	}
	several := `count(DISTINCT o.account) > 1`
	if rules != mergeOtherAccounts {
		several = `(part = 'meeting' OR ` + several + `)`
	}
	ids, err := a.mergedIDs(ctx, several)
	var filled map[int64][]misjudged
	if err == nil && rules != mergeOtherAccounts {
		var blank []int64
		if blank, err = a.blankIDs(ctx); err == nil {
			filled, err = a.readMisjudged(ctx)
		}
		ids = slices.AppendSeq(append(ids, blank...), maps.Keys(filled))
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	if err != nil {
		return fmt.Errorf("decide meetings again: %w", err)
	}
	if len(ids) > 0 {
		a.log.Info().Int("meetings", len(ids)).Msg("deciding again what meetings of several versions are: the rules are newer, or the accounts have changed")
	}
	began := a.running()
	reported := began
	for done := 0; done < len(ids); {
		chunk := ids[done:min(done+rebuildChunk, len(ids))]
		_, err := a.change(ctx, func(tx *sql.Tx) error {
			t := newApplying(a, sqlite.NewStatements(ctx, tx))
			for _, id := range chunk {
				if err := t.remergeMeeting(id, filled[id]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("decide meetings again: %w", err)
		}
		done += len(chunk)
		if now := a.running(); now-reported >= a.reports.Interval && done < len(ids) {
			reported = now
			a.log.Info().Int("done", done).Int("meetings", len(ids)).Dur("remaining", sqlite.Remaining(now-began, int64(done), int64(len(ids)))).Msg("deciding again")
		}
	}
	_, err = a.db.ExecContext(ctx, `INSERT INTO info (name, value) VALUES ('merge_rules', ?)
		ON CONFLICT DO UPDATE SET value = excluded.value`, mergeRules)
	if err != nil {
		return fmt.Errorf("note merge rules: %w", err)
	}
	return nil
}

// mergedIDs returns the meetings with a part of several versions, on a condition.
func (a *Archive) mergedIDs(ctx context.Context, having string) ([]int64, error) {
	return sqlite.Column[int64](ctx, a.db.R, `SELECT DISTINCT recording_id FROM revisions r JOIN observations o ON o.revision_id = r.id
		WHERE part <> 'crm_matches' GROUP BY recording_id, part
		HAVING count(DISTINCT r.id) > 1 AND `+having)
}

// whiteSpace has the characters of which a text that says nothing consists.
const whiteSpace = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// blankIDs returns the meetings with rows of elements that say nothing, as the rules before 9
// derived them.
func (a *Archive) blankIDs(ctx context.Context) ([]int64, error) {
	return sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM meetings WHERE NOT has_transcript AND entries > 0
		UNION SELECT recording_id FROM action_items WHERE trim(description, ?1) = ''
		UNION SELECT recording_id FROM highlights WHERE trim(type || summary || text, ?1) = '' AND coalesce(start_seconds, 0) = 0 AND coalesce(end_seconds, 0) = 0`, whiteSpace)
}

// misjudged is a version that is marked as empty and has content.
type misjudged struct {
	revision int64
	part     api.Part
}

// readMisjudged returns the versions by meeting that the rules before 12 took for empty, because
// of keys that other parts have.
func (a *Archive) readMisjudged(ctx context.Context) (map[int64][]misjudged, error) {
	all := map[int64][]misjudged{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var id int64
		var m misjudged
		var encoding int
		var body []byte
		if err := rows.Scan(&id, &m.revision, &m.part, &encoding, &body); err != nil {
			return err
		}
		if raw, err := a.codec.unpack(encoding, body); err == nil && api.HasContent(m.part, raw) { // verify names a damaged one
			all[id] = append(all[id], m)
		}
		return nil
	}, `SELECT r.recording_id, r.id, r.part, b.encoding, b.body FROM revisions r JOIN bodies b ON b.revision_id = r.id WHERE r.empty AND b.size > 2`)
	return all, err
}

// remergeMeeting decides the parts of a meeting again, with versions that are not empty after all.
// It leaves a part with an unreadable version, which verify reports, as it is.
func (t *applying) remergeMeeting(id int64, filled []misjudged) error {
	rows := []string{`SELECT * FROM meetings WHERE recording_id = ?`, `SELECT * FROM invitees WHERE recording_id = ?`,
		`SELECT * FROM action_items WHERE recording_id = ?`, `SELECT * FROM highlights WHERE recording_id = ?`}
	before, err := t.digestRows(id, rows)
	if err != nil {
		return err
	}
	recorder, err := t.readRecorder(id)
	if err != nil {
		return err
	}
	for _, m := range filled {
		if _, err := t.Exec(`UPDATE revisions SET empty = 0 WHERE id = ?`, m.revision); err != nil {
			return err
		}
	}
	for _, part := range api.Parts() {
		isFilled := slices.ContainsFunc(filled, func(m misjudged) bool { return m.part == part })
		if part == api.PartCRM && !isFilled {
			continue
		}
		moved, err := t.redecide(id, part)
		if err == nil && (moved || isFilled) && part != api.PartMeeting {
			err = t.logChange(id, ChangePart, part)
		}
		if err != nil {
			err = t.passUnreadable(id, err)
		}
		if err != nil {
			return err
		}
	}
	after, err := t.digestRows(id, rows)
	if err != nil || before == after {
		return err
	}
	if err := t.logChange(id, ChangePart, api.PartMeeting); err != nil {
		return err
	}
	return t.deriveOutside(id, recorder, false)
}

// passUnreadable passes over an error of deciding about a part of a meeting, which is left as
// it is then, if a version of it cannot be read. It returns an error of the machine.
func (t *applying) passUnreadable(id int64, err error) error {
	if t.Context().Err() != nil || sqlite.IsPassing(err) {
		return err
	}
	t.archive.log.Warn().Int64("recording_id", id).Err(err).Msg("a version cannot be read; run minutebook verify")
	return nil
}
