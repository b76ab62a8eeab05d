package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"minutebook/archive/generation"
	"minutebook/archive/media"
	"minutebook/internal/phrase"
	"minutebook/internal/seal"
	"minutebook/internal/sqlite"
)

// checkMedia compares the recordings' rows with the files, and the files with their
// hashes.
func (c *check) checkMedia(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	var total int
	if err := a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM media`).Scan(&total); err != nil {
		return err
	}
	if err := media.Check(ctx, a.media); err != nil {
		return err
	}
	for after := ""; ; {
		chunk, err := a.readBlobs(ctx, after)
		if err != nil {
			return err
		}
		if len(chunk) == 0 {
			break
		}
		after = chunk[len(chunk)-1].SHA256
		for _, b := range chunk {
			if !o.inSlice(b.SHA256) {
				continue
			}
			if err := c.checkBlob(ctx, b, o, found); err != nil {
				return err
			}
			c.sum.Recordings++
			c.reportProgress("recordings", c.sum.Recordings, total)
		}
	}
	if o.Slice > 0 {
		return nil
	}
	if err := c.checkUnknownBlobs(ctx, o, found); err != nil {
		return err
	}
	if err := c.checkFormerStores(ctx, found); err != nil {
		return err
	}
	return media.WalkForeign(ctx, a.media, func(path string) {
		found(Damage{Class: DamageFileExtra, Path: path, What: "this is no recording of the archive"})
	})
}

func (a *Archive) readBlobs(ctx context.Context, after string) ([]media.Blob, error) {
	return sqlite.List(ctx, a.db.R, func(rows *sql.Rows, b *media.Blob) error {
		return rows.Scan(&b.SHA256, &b.Size, &b.ContentType)
	}, `SELECT sha256, size, content_type FROM media WHERE sha256 > ? ORDER BY 1 LIMIT ?`, after, verifyChunk)
}

func (c *check) checkBlob(ctx context.Context, want media.Blob, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	d := Damage{Class: DamageFile, Path: media.Path(a.media, want.SHA256)}
	r, got, err := a.media.Open(ctx, want.SHA256)
	switch {
	case errors.Is(err, media.ErrNotFound):
		var exists bool // forgotten or expired since the rows were read
		err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM media WHERE sha256 = ?)`, want.SHA256).Scan(&exists)
		if err != nil || !exists {
			return err
		}
		d.Class, d.What = DamageFileMissing, "the file of a recording is missing"
		c.repair(ctx, &d, o, func() error { return c.repairRecording(ctx, want.SHA256, false, &d) })
		found(d)
		return nil
	case err != nil && (ctx.Err() != nil || media.IsUnavailable(err)):
		return err
	case err != nil: // a repair could lose a file that a person can make readable again
		d.What = fmt.Sprintf("it cannot be opened: %v; make it readable, or move it away and repair", err)
		found(d)
		return nil
	}
	defer r.Close()
	switch {
	case got.Size != want.Size:
		d.What = fmt.Sprintf("it has %d bytes and not %d", got.Size, want.Size)
	case o.SkipMedia:
		return nil
	default:
		if d.What, err = hashDamage(ctx, r, want.SHA256); err != nil || d.What == "" {
			return err
		}
		if _, err := r.Seek(0, io.SeekStart); err == nil { // read again: the connection to a store may have changed the bytes
			damage, err := hashDamage(ctx, r, want.SHA256)
			if err != nil || damage == "" {
				return err
			}
		}
	}
	c.repair(ctx, &d, o, func() error { return c.repairRecording(ctx, want.SHA256, true, &d) })
	found(d)
	return nil
}

// hashDamage reads a recording and describes its damage, "" for none. It fails when the
// store fails, which is no damage.
func hashDamage(ctx context.Context, r io.Reader, sha string) (string, error) {
	h := sha256.New()
	switch _, err := io.Copy(h, seal.ContextReader(ctx, r)); {
	case err == nil:
	case ctx.Err() != nil:
		return "", ctx.Err()
	case media.IsUnavailable(err):
		return "", err
	default:
		return "it cannot be read: " + err.Error(), nil
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != sha {
		return "its bytes have the hash " + sum, nil
	}
	return "", nil
}

// dropRecording removes a lost recording from its meetings and queues its download
// again. It first puts a damaged file aside, and leaves a file without meetings: it is being
// forgotten.
func (a *Archive) dropRecording(ctx context.Context, sha string, damaged bool) error {
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.blobs.Release(1)
	ids, err := a.MeetingsWith(ctx, sha)
	if err == nil && damaged && len(ids) > 0 {
		err = a.quarantine(ctx, sha, ids)
	}
	if err != nil {
		return err
	}
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		ids, err := sqlite.Column[int64](t.Context(), t, `DELETE FROM attachments WHERE sha256 = ? RETURNING recording_id`, sha)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := setMarks(ctx, tx, []Mark{markGivenUp(id, generation.RecordingPart, sha)}); err != nil {
				return err
			}
			if err := deriveMedia(ctx, tx, id); err != nil {
				return err
			}
			for _, step := range []string{ // the row stays where it says to whom the service forbade the recording
				`DELETE FROM downloads WHERE recording_id = ? AND state = 'done' AND forbidden_to = '[]'`,
				`REPLACE INTO downloads (recording_id, state, due_at, forbidden_to) SELECT recording_id, 'refused', 0, forbidden_to
					FROM downloads WHERE recording_id = ? AND state = 'done'`,
			} {
				if _, err := t.Exec(step, id); err != nil {
					return err
				}
			}
			if err := t.logChange(id, ChangeMedia, ""); err != nil {
				return err
			}
		}
		_, err = t.Exec(`DELETE FROM media WHERE sha256 = ?`, sha)
		return err
	})
	return err
}

// quarantine puts a recording aside under media/damaged, with a mark for each of its
// meetings, by which forgetting finds the file. The caller holds blobs.
func (a *Archive) quarantine(ctx context.Context, sha string, ids []int64) error {
	var marks []Mark
	for _, id := range ids {
		marks = append(marks, markUnattached(sha, id))
	}
	if err := a.SetMarks(ctx, marks...); err != nil {
		return err
	}
	return media.Quarantine(ctx, a.media, a.dir, sha)
}

// checkUnknownBlobs reports blobs without a row, except those that forgetting or a rule of
// retention still has to delete: the daemon tries again until the store does, and except those
// that are being stored. A crash between storing and attaching leaves a blob, and the next
// download of the recording uses it.
func (c *check) checkUnknownBlobs(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	return a.media.Walk(ctx, func(b media.Blob) error {
		if used, err := a.expectsBlob(ctx, b.SHA256); err != nil || used || a.isStoring(b.SHA256) {
			return err
		}
		if used, err := a.expectsAttached(ctx, b.SHA256); err != nil || used {
			return err
		}
		var forgotten bool
		err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM tombstones, json_each(blobs) WHERE value = ?)`, b.SHA256).Scan(&forgotten)
		if err != nil {
			return err
		}
		if _, err := a.media.Stat(ctx, b.SHA256); errors.Is(err, ErrNotFound) {
			return nil // deleted since the store was listed
		}
		d := Damage{Class: DamageFileExtra, Path: media.Path(a.media, b.SHA256), What: "no meeting has this recording"}
		if forgotten {
			d.What = "a meeting that was forgotten had this recording"
		}
		c.repair(ctx, &d, o, func() error { return a.repairUnknown(ctx, b.SHA256, forgotten, &d) })
		found(d)
		return nil
	})
}

// checkFormerStores counts the recordings that are left where media.url led before. They may be the only
// ones: a person has to look.
func (c *check) checkFormerStores(ctx context.Context, found func(Damage)) error {
	for _, s := range c.archive.stores()[1:] {
		left := 0
		err := s.Walk(ctx, func(media.Blob) error { left++; return nil })
		if err != nil {
			return err
		}
		if left > 0 {
			found(Damage{Class: DamageFileExtra, Path: media.Dir(s), What: phrase.Count(left, "recording is", "recordings are") +
				" left here, and media.url names another place; copy those that it lacks, and delete the files here"})
		}
	}
	return nil
}

// expectsAttached is expectsBlob after the commit of a blob's attaching, which may be under way.
func (a *Archive) expectsAttached(ctx context.Context, sha string) (bool, error) {
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer a.blobs.Release(1)
	return a.expectsBlob(ctx, sha)
}

// repairUnknown puts aside a blob without a meeting, with a mark for each meeting for which
// it was fetched. It deletes a blob of a forgotten meeting, which somebody has brought back,
// unless it was stored for another one.
func (a *Archive) repairUnknown(ctx context.Context, sha string, forgotten bool, d *Damage) error {
	expected, err := a.Marks(ctx, unattachedMark+sha)
	if err != nil {
		return err
	}
	ids, err := sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM downloads WHERE sha256 = ?`, sha)
	if err != nil {
		return err
	}
	if forgotten && len(ids)+len(expected) == 0 {
		d.Outcome = "deleted"
		_, err := a.DropBlob(ctx, sha)
		return err
	}
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.blobs.Release(1)
	if attached, err := a.isAttached(ctx, sha); attached || err != nil || a.isStoring(sha) {
		return err
	}
	if err := a.quarantine(ctx, sha, ids); err != nil {
		return err
	}
	d.Outcome, d.Aside = "put aside", media.QuarantinePath(a.media, a.dir, sha)
	return nil
}
