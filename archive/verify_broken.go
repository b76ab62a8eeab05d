package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// repairBroken repairs rows that refer to missing rows. It makes the missing rows of
// revisions and recordings again. It removes derived rows only, since the revisions
// produce them again.
func (c *check) repairBroken(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	ids, err := sqlite.Column[int64](ctx, a.db.R, `SELECT revision_id FROM (SELECT revision_id FROM bodies UNION SELECT revision_id FROM observations
		UNION SELECT revision_id FROM parts WHERE revision_id IS NOT NULL) WHERE revision_id NOT IN (SELECT id FROM revisions)`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d := Damage{Class: DamageForeignKey, Path: a.db.Path, What: fmt.Sprintf("the row of revision %d is not there", id)}
		c.repair(ctx, &d, o, func() error { return c.repairOrphan(ctx, id, &d) })
		if d.RecordingID != 0 {
			c.touched = append(c.touched, d.RecordingID)
		}
		found(d)
	}
	for what, fn := range map[string]func(context.Context) (int64, error){
		"missing rows of recordings that meetings have": a.restoreMediaRows, "missing rows of speakers": a.dropSpeakerless,
	} {
		n, err := fn(ctx)
		if n > 0 || err != nil {
			d := Damage{Class: DamageForeignKey, Path: a.db.Path, What: fmt.Sprintf("%s: %d", what, n)}
			c.repair(ctx, &d, o, func() error { return err })
			found(d)
		}
	}
	return c.rebuildRepaired(ctx, found)
}

// repairOrphan makes the missing row of a revision again: from the revision's bytes
// where the current parts name its meeting, or from a backup. Else the bytes are put
// aside, and the content is requested again or lost.
func (c *check) repairOrphan(ctx context.Context, id int64, d *Damage) error {
	a := c.archive
	s, own, current, err := a.readOrphan(ctx, id)
	if err != nil {
		return err
	}
	raw, where := own, "its own bytes"
	if (own == nil || s.recordingID == 0) && c.options.From != nil {
		if raw, where, err = c.options.From.findRevisionByID(ctx, a, &s, own); err != nil {
			return err
		}
	}
	d.RecordingID = s.recordingID
	if gone, err := a.Forgotten(ctx, []int64{s.recordingID}); err != nil || len(gone) > 0 {
		return errors.Join(err, a.dropOrphan(ctx, s)) // forgetting could not find it
	}
	if raw != nil && s.recordingID != 0 {
		d.Outcome = "brought back from " + where
		return a.restoreRow(ctx, s, raw)
	}
	if s.size >= 0 {
		if d.Aside, err = a.putAside(ctx, s.recordingID, fmt.Sprintf("%s-%d", s.part, id), firstNonNil(own, s.body)); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("version %d of a meeting", id)
	if s.recordingID != 0 {
		name = fmt.Sprintf("%s of %s", s.part, a.meetingName(ctx, s.recordingID))
	}
	rows, err := a.putRowsAside(ctx, s, current)
	if err != nil {
		return err
	}
	c.askAgain(ctx, s.recordingID, name, current, d)
	d.Outcome += rows
	return a.dropOrphan(ctx, s)
}

func firstNonNil(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// readOrphan reads a revision without a row. raw is nil when its bytes cannot be
// read. current reports whether a current part consists of it.
func (a *Archive) readOrphan(ctx context.Context, id int64) (s stored, raw []byte, current bool, err error) {
	s = stored{id: id, size: -1}
	err = a.db.R.QueryRowContext(ctx, `SELECT raw_hash, size, encoding, body FROM bodies WHERE revision_id = ?`, id).
		Scan(&s.rawHash, &s.size, &s.encoding, &s.body)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, nil, false, err
	}
	err = a.db.R.QueryRowContext(ctx, `SELECT recording_id, part FROM parts WHERE revision_id = ?1
		OR ?1 IN (SELECT value FROM json_each(folded)) LIMIT 1`, id).Scan(&s.recordingID, &s.part)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, nil, false, err
	}
	current = err == nil
	if s.size < 0 {
		return s, nil, current, nil
	}
	own, err := a.codec.unpack(s.encoding, s.body)
	if err != nil || len(own) != s.size || rawHash(own) != s.rawHash || !json.Valid(own) {
		return s, nil, current, nil
	}
	if !current { // the part "meeting" has its meeting's id
		var m struct {
			ID int64 `json:"recording_id"`
		}
		if json.Unmarshal(own, &m) == nil && m.ID > 0 {
			s.recordingID, s.part = m.ID, api.PartMeeting
		}
	}
	return s, own, current, nil
}

// restoreRow makes the row of a revision again. It deletes the revision instead when
// another one has the same content, or the meeting was forgotten.
func (a *Archive) restoreRow(ctx context.Context, s stored, raw []byte) error {
	hash, empty, ok := api.JudgePart(s.part, raw)
	if !ok {
		return errors.New("its bytes are not JSON")
	}
	_, err := a.db.ExecContext(ctx, `INSERT INTO revisions (id, recording_id, part, hash, empty) SELECT ?1, ?2, ?3, ?4, ?5
		WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE recording_id = ?2) ON CONFLICT DO NOTHING`, s.id, s.recordingID, s.part, hash[:], empty)
	if err != nil {
		return err
	}
	var exists bool
	if err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM revisions WHERE id = ?)`, s.id).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		return a.dropOrphan(ctx, s)
	}
	return a.rewriteRevision(ctx, s, raw)
}

// dropOrphan deletes the rows that refer to a missing revision.
func (a *Archive) dropOrphan(ctx context.Context, s stored) error {
	if err := a.dropRevision(ctx, s); err != nil {
		return err
	}
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"bodies", "observations"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE revision_id = ?`, s.id); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreMediaRows makes the missing rows of meetings' recordings again. Their files
// are checked later.
func (a *Archive) restoreMediaRows(ctx context.Context) (int64, error) {
	lost, err := sqlite.Column[string](ctx, a.db.R, `SELECT DISTINCT sha256 FROM attachments WHERE sha256 NOT IN (SELECT sha256 FROM media)`)
	if err != nil {
		return 0, err
	}
	for _, sha := range lost {
		b, err := a.media.Stat(ctx, sha)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return int64(len(lost)), err
		}
		_, err = a.db.ExecContext(ctx, `INSERT INTO media (sha256, size, content_type, stored_at) VALUES (?, ?, ?, ?)`,
			sha, b.Size, b.ContentType, a.now().UnixMilli())
		if err != nil {
			return int64(len(lost)), fmt.Errorf("note recording %s again: %w", sha, err)
		}
	}
	return int64(len(lost)), nil
}

// dropSpeakerless removes derived rows that refer to missing speakers, for meetings
// whose transcript can produce them again.
func (a *Archive) dropSpeakerless(ctx context.Context) (n int64, err error) {
	const transcripts = `SELECT recording_id FROM parts JOIN bodies USING (revision_id) WHERE part = 'transcript'`
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		for _, q := range []string{
			`DELETE FROM entries WHERE speaker_id NOT IN (SELECT id FROM speakers) AND
				id >> 20 IN (SELECT number FROM meetings WHERE recording_id IN (` + transcripts + `))`,
			`DELETE FROM meeting_speakers WHERE speaker_id NOT IN (SELECT id FROM speakers)`,
		} {
			result, err := tx.ExecContext(ctx, q)
			if err != nil {
				return fmt.Errorf("remove rows that refer to nothing: %w", err)
			}
			affected, err := result.RowsAffected()
			if err != nil {
				return err
			}
			n += affected
		}
		return nil
	})
	return n, err
}
