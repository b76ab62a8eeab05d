package archive

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// stored is a revision that is read for checking.
type stored struct {
	id, recordingID int64
	part            api.Part
	hash            []byte
	rawHash         int64
	size, encoding  int
	empty           bool
	body            []byte
	observed        bool // in at least one observation
}

const verifyChunk = 64 // revisions, or meetings, read at a time

// checkRevisions reads every revision and compares it with its hashes.
func (c *check) checkRevisions(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	var total int
	if err := a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM revisions WHERE id % ? = ?`, max(o.Slices, 1), o.Slice).Scan(&total); err != nil {
		return err
	}
	for after := int64(0); ; {
		chunk, err := a.readStored(ctx, o, after)
		if err != nil {
			return err
		}
		if len(chunk) == 0 {
			return c.rebuildRepaired(ctx, found)
		}
		after = chunk[len(chunk)-1].id
		faults := make([]error, len(chunk))
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for i := range chunk {
			g.Go(func() error {
				faults[i] = a.checkStored(&chunk[i])
				return nil
			})
		}
		g.Wait()
		for i, fault := range faults {
			if fault == nil {
				continue
			}
			s := chunk[i]
			d := Damage{Class: DamagePart, Path: a.db.Path, RecordingID: s.recordingID,
				What: fmt.Sprintf("revision %d of part %s: %v", s.id, s.part, fault)}
			c.repair(ctx, &d, o, func() error { return c.repairRevision(ctx, s, &d) })
			if d.Outcome != "" {
				c.touched = append(c.touched, s.recordingID)
			}
			found(d)
		}
		c.sum.Revisions += len(chunk)
		c.reportProgress("revisions", c.sum.Revisions, total)
	}
}

func (a *Archive) readStored(ctx context.Context, o VerifyOptions, after int64) ([]stored, error) {
	return sqlite.List(ctx, a.db.R, func(rows *sql.Rows, s *stored) error {
		return rows.Scan(&s.id, &s.recordingID, &s.part, &s.hash, &s.empty, &s.rawHash, &s.size, &s.encoding, &s.body, &s.observed)
	}, `SELECT r.id, r.recording_id, r.part, r.hash, r.empty, coalesce(b.raw_hash, 0),
		coalesce(b.size, -1), coalesce(b.encoding, -1), b.body, EXISTS (SELECT 1 FROM observations o WHERE o.revision_id = r.id)
		FROM revisions r LEFT JOIN bodies b ON b.revision_id = r.id WHERE r.id > ? AND r.id % ? = ?
		ORDER BY r.id LIMIT ?`, after, max(o.Slices, 1), o.Slice, verifyChunk)
}

// checkStored returns an error that describes the damage of a revision, or nil.
func (a *Archive) checkStored(s *stored) error {
	if s.size < 0 {
		return errors.New("its bytes are missing")
	}
	raw, err := a.codec.unpack(s.encoding, s.body)
	switch {
	case err != nil:
		return errors.New("its bytes are damaged")
	case !json.Valid(raw):
		return errors.New("it no longer parses")
	case len(raw) != s.size || rawHash(raw) != s.rawHash:
		return errors.New("its bytes are not those that arrived")
	}
	hash, empty, _ := api.Judge(raw)
	_, blank, _ := api.JudgePart(s.part, raw) // earlier versions counted some of these as content
	switch {
	case string(hash[:]) != string(s.hash):
		return errors.New("its content is not what its hash says")
	case s.empty != blank && s.empty != empty:
		return errors.New("it is marked empty and is not, or the reverse")
	case !s.observed:
		return errors.New("nothing says where it came from")
	}
	return nil
}

// dropRevision deletes an unreadable revision and writes a line of the audit.
func (a *Archive) dropRevision(ctx context.Context, s stored) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		for _, q := range []string{
			`UPDATE parts SET folded = NULL WHERE revision_id = ?1 OR ?1 IN (SELECT value FROM json_each(folded))`,
			`UPDATE parts SET revision_id = NULL WHERE revision_id = ?1`,
			`DELETE FROM revisions WHERE id = ?1`,
		} {
			if _, err := t.Exec(q, s.id); err != nil {
				return err
			}
		}
		if err := setMarks(ctx, tx, []Mark{markGivenUp(s.recordingID, string(s.part), hex.EncodeToString(s.hash))}); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO audit (at, action, recording_id, reason, detail) VALUES (?, 'repair', ?, 'unreadable', ?)`,
			t.at.UnixMilli(), s.recordingID, fmt.Sprintf("revision %d of part %s", s.id, s.part))
		return err
	})
	return err
}
