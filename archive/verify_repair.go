package archive

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"minutebook/api"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
	"minutebook/internal/durable"
	"minutebook/internal/seal"
	"minutebook/internal/sqlite"
)

// repair runs fn where a repair is requested and ctx has not ended, and records its result.
func (c *check) repair(ctx context.Context, d *Damage, o VerifyOptions, fn func() error) {
	if !o.Repair || ctx.Err() != nil {
		return
	}
	if err := fn(); err != nil {
		d.What += "; it could not be repaired: " + err.Error()
		d.Outcome, d.Lost = "", false
		return
	}
	d.Repaired = !d.Lost
}

// repairRevision restores a damaged revision: from its own bytes where only its
// metadata is damaged, from the same content in the archive or the inbox, or from a
// backup. Else it deletes the revision, and the content is requested again or lost.
// Unreadable bytes are put aside first.
func (c *check) repairRevision(ctx context.Context, s stored, d *Damage) error {
	a := c.archive
	name := fmt.Sprintf("%s of %s", s.part, a.meetingName(ctx, s.recordingID))
	raw, where, err := c.findContent(ctx, s)
	if err != nil {
		return err
	}
	if s.size >= 0 {
		if d.Aside, err = a.putAside(ctx, s.recordingID, fmt.Sprintf("%s-%d", s.part, s.id), s.body); err != nil {
			return err
		}
	}
	if raw != nil {
		d.Outcome = "brought back from " + where
		return a.rewriteRevision(ctx, s, raw)
	}
	var current bool
	err = a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM parts WHERE revision_id = ?1 OR ?1 IN (SELECT value FROM json_each(folded)))`, s.id).Scan(&current)
	if err != nil {
		return err
	}
	rows, err := a.putRowsAside(ctx, s, current)
	if err != nil {
		return err
	}
	if err := a.dropRevision(ctx, s); err != nil {
		return err
	}
	c.askAgain(ctx, s.recordingID, name, current, d)
	d.Outcome += rows
	return nil
}

// repairRecording restores a recording from the backup. Else it removes it from its
// meetings, and the recording is downloaded again or lost. A damaged file is put
// aside.
func (c *check) repairRecording(ctx context.Context, sha string, damaged bool, d *Damage) error {
	a := c.archive
	ids, err := a.MeetingsWith(ctx, sha)
	if err != nil {
		return err
	}
	if c.options.From != nil {
		switch r, where, err := c.options.From.openRecording(ctx, sha); {
		case err == nil:
			d.Outcome = "brought back from " + where
			return errors.Join(a.replaceRecording(ctx, sha, ids, damaged, r), r.Close())
		case !errors.Is(err, ErrNotFound):
			return err
		}
	}
	if err := a.dropRecording(ctx, sha, damaged); err != nil {
		return err
	}
	for _, id := range ids {
		own := Damage{}
		c.askAgain(ctx, id, "", true, &own)
		if d.Outcome != "" {
			d.Outcome += "; "
		}
		d.Outcome += a.meetingName(ctx, id) + ": its recording is " + own.Outcome
		d.Lost = d.Lost || own.Lost
	}
	return nil
}

// replaceRecording puts a backup's copy of a recording into the store, unless a meeting that
// had it was forgotten meanwhile. Forget does not wait until the copy is read.
func (a *Archive) replaceRecording(ctx context.Context, sha string, ids []int64, damaged bool, r io.Reader) error {
	temp, err := os.CreateTemp(filepath.Dir(a.PartialPath("any")), durable.TempPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = seal.Copy(ctx, temp, r)
	if err = errors.Join(err, temp.Close()); err != nil {
		return sqlite.WrapDiskFull(err)
	}
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.blobs.Release(1)
	if left, err := a.MeetingsWith(ctx, sha); err != nil || len(left) == 0 || len(left) < len(ids) {
		return cmp.Or(err, errors.New("a meeting no longer has it; repair again"))
	}
	if damaged {
		if err := a.quarantine(ctx, sha, ids); err != nil {
			return err
		}
	}
	blob, err := a.media.Import(ctx, temp.Name())
	if err == nil && blob.SHA256 != sha {
		return errors.Join(fmt.Errorf("the backup's copy has the hash %s", blob.SHA256), a.media.Delete(ctx, blob.SHA256))
	}
	if err == nil { // unknown when the row was lost too
		_, err = a.db.ExecContext(ctx, `UPDATE media SET size = ? WHERE sha256 = ?`, blob.Size, sha)
	}
	return err
}

// askAgain requests removed content again and records the account in d, or records
// the content as lost. The service has current content only, no earlier versions.
func (c *check) askAgain(ctx context.Context, id int64, name string, current bool, d *Damage) {
	if current && c.options.AskAgain != nil {
		account, err := c.options.AskAgain(context.WithoutCancel(ctx), id) // the content is removed already
		if err == nil && account != "" {
			d.Outcome = "asked for again from " + account
			return
		}
		if err != nil {
			d.What += " (" + err.Error() + ")"
		}
	}
	d.Lost, d.Outcome = true, strings.TrimSpace("lost "+name)
}

// givenUpMark begins the marks of the content that repairs have taken out. Its rest is the
// meeting, the part and the hash.
const givenUpMark = "repair/gave-up/"

// markGivenUp notes that a repair takes content out. Backups that may have it stay.
func markGivenUp(id int64, part, hash string) Mark {
	return Mark{Key: fmt.Sprintf("%s%d/%s/%s", givenUpMark, id, part, hash), Value: []byte{1}}
}

// ReadGivenUp returns the content that repairs have taken out of an archive.db and that has not
// come back.
func ReadGivenUp(ctx context.Context, db *sql.DB) (all []generation.Content, err error) {
	keys, err := sqlite.Column[string](ctx, db, `SELECT key FROM marks WHERE key GLOB ? || '*' ORDER BY 1`, givenUpMark)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		id, rest, _ := strings.Cut(strings.TrimPrefix(key, givenUpMark), "/")
		part, hash, _ := strings.Cut(rest, "/")
		raw, _ := hex.DecodeString(hash)
		c := generation.Content{Part: part, Hash: hash}
		var settled bool
		if c.RecordingID, err = strconv.ParseInt(id, 10, 64); err == nil {
			err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM attachments WHERE sha256 = ?3)
				OR EXISTS (SELECT 1 FROM revisions WHERE recording_id = ?1 AND part = ?2 AND hash = ?4)`, c.RecordingID, part, hash, raw).Scan(&settled)
		}
		if err != nil {
			return nil, fmt.Errorf("read mark %s: %w", key, err)
		}
		if !settled {
			all = append(all, c)
		}
	}
	return all, nil
}

// MeetingsWith returns the meetings that have a recording.
func (a *Archive) MeetingsWith(ctx context.Context, sha string) ([]int64, error) {
	return sqlite.Column[int64](ctx, a.db.R, `SELECT DISTINCT recording_id FROM attachments WHERE sha256 = ?`, sha)
}

// meetingName returns a meeting's title for a message.
func (a *Archive) meetingName(ctx context.Context, id int64) string {
	var title string
	if err := a.db.R.QueryRowContext(ctx, `SELECT title FROM meetings WHERE recording_id = ?`, id).Scan(&title); err != nil || title == "" {
		return fmt.Sprintf("meeting %d", id)
	}
	return fmt.Sprintf("%q", title)
}

// findContent searches a revision's content in its own bytes, in other revisions, in
// deliveries and in the backup. raw is nil when none has it.
func (c *check) findContent(ctx context.Context, s stored) (raw []byte, where string, err error) {
	a := c.archive
	if own, err := a.codec.unpack(s.encoding, s.body); err == nil && s.size == len(own) && rawHash(own) == s.rawHash && json.Valid(own) {
		return own, "its own bytes", nil
	}
	if raw, err = a.codec.findBody(ctx, a.db.R, `r.hash = ? AND r.id <> ?`, s, s.hash, s.id); raw != nil || err != nil {
		return raw, "another version with the same content", err
	}
	if raw, err = c.findDelivered(ctx, s); raw != nil || err != nil {
		return raw, "the inbox", err
	}
	if c.options.From != nil {
		return c.options.From.findRevision(ctx, a, s)
	}
	return nil, "", nil
}

// findBody returns an undamaged body with the content of s among the revisions that match a
// condition, nil when there is none.
func (c *codec) findBody(ctx context.Context, db *sql.DB, where string, s stored, args ...any) (raw []byte, err error) {
	err = sqlite.Each(ctx, db, func(rows *sql.Rows) error {
		var encoding int
		var body []byte
		if err := rows.Scan(&encoding, &body); err != nil {
			return err
		}
		if found, err := c.unpack(encoding, body); err == nil && s.matches(found) {
			raw = slices.Clone(found)
		}
		return nil
	}, `SELECT b.encoding, b.body FROM revisions r JOIN bodies b ON b.revision_id = r.id WHERE `+where, args...)
	return raw, err
}

// matches reports whether raw has the content of the revision.
func (s stored) matches(raw []byte) bool {
	hash, _, ok := api.Judge(raw)
	return ok && string(hash[:]) == string(s.hash)
}

// findDelivered searches a revision's content in the bodies of deliveries.
func (c *check) findDelivered(ctx context.Context, s stored) ([]byte, error) {
	var raw []byte
	err := c.archive.inbox.EachAbout(ctx, s.recordingID, func(d inbox.Delivery) error {
		if d.Body == nil || raw != nil {
			return nil
		}
		if o, err := FromDelivery(d); err == nil && o.RecordingID == s.recordingID && s.matches(o.Parts[s.part]) {
			raw = bytes.TrimSpace(o.Parts[s.part])
		}
		return nil
	})
	return raw, err
}

// rewriteRevision replaces a revision's bytes and metadata by correct ones.
func (a *Archive) rewriteRevision(ctx context.Context, s stored, raw []byte) error {
	hash, empty, ok := api.JudgePart(s.part, raw)
	if !ok {
		return errors.New("what was found is not JSON")
	}
	encoding, body := a.codec.pack(raw)
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		if _, err := t.Exec(`UPDATE revisions SET hash = ?, empty = ? WHERE id = ?`, hash[:], empty, s.id); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO bodies (revision_id, raw_hash, size, encoding, body) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET raw_hash = excluded.raw_hash, size = excluded.size, encoding = excluded.encoding, body = excluded.body`,
			s.id, rawHash(raw), len(raw), encoding, body)
		if err != nil {
			return err
		}
		_, err = t.Exec(`INSERT INTO observations (revision_id, account, source, first_at, last_at)
			SELECT id, 'unknown', iif(read_at > 0, 'list', 'import'), max(read_at, told_at, 1), max(read_at, told_at, 1) FROM revisions
			WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM observations WHERE revision_id = ?1)`, s.id)
		return err
	})
	return err
}

// rebuildRepaired rebuilds the meetings with repaired revisions. It runs after all
// repairs, since one unreadable revision prevents the rebuild of its meeting.
func (c *check) rebuildRepaired(ctx context.Context, found func(Damage)) error {
	slices.Sort(c.touched)
	for _, id := range slices.Compact(c.touched) {
		if err := c.archive.rebuildOne(ctx, id); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found(Damage{Class: DamageRows, Path: c.archive.db.Path, RecordingID: id, What: "it could not be decided again: " + err.Error()})
		}
	}
	return nil
}

// asideDir is the directory for unreadable bytes, which a repair keeps for a person to
// inspect. Names begin with the meeting's recording_id, by which forget finds them.
const asideDir = "damaged"

// putAside keeps bytes of a meeting that are about to be replaced, and returns their path.
// It fails with ErrForgotten and keeps nothing of a meeting that was forgotten meanwhile.
func (a *Archive) putAside(ctx context.Context, id int64, name string, body []byte) (string, error) {
	path := filepath.Join(a.dir, asideDir, fmt.Sprintf("%d-%s", id, name))
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := durable.WriteFile(path, body); err != nil {
		return "", fmt.Errorf("put damaged bytes aside: %w", err)
	}
	gone, err := a.Forgotten(ctx, []int64{id}) // forget looks for files after its tombstone
	if err == nil && len(gone) > 0 {
		err = ErrForgotten
	}
	if err != nil {
		return "", errors.Join(err, durable.Remove(path))
	}
	return path, nil
}
