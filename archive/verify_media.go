package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"minutebook/archive/media"
	"minutebook/internal/seal"
	"minutebook/internal/sqlite"
)

// media holds the recordings' rows against the files, and the files against
// their hashes.
func (c *check) media(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	var total int
	if err := a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM media`).Scan(&total); err != nil {
		return err
	}
	for after := ""; ; {
		chunk, err := a.blobsAfter(ctx, after)
		if err != nil {
			return err
		}
		if len(chunk) == 0 {
			break
		}
		after = chunk[len(chunk)-1].SHA256
		for _, b := range chunk {
			if err := c.blob(ctx, b, o, found); err != nil {
				return err
			}
			c.sum.Recordings++
			c.progress("recordings", c.sum.Recordings, total)
		}
	}
	if err := c.unknownBlobs(ctx, o, found); err != nil {
		return err
	}
	return media.WalkForeign(ctx, a.media, func(path string) {
		found(Damage{Class: DamageFileExtra, Path: path, What: "this is no recording of the archive"})
	})
}

func (a *Archive) blobsAfter(ctx context.Context, after string) ([]media.Blob, error) {
	return sqlite.List(ctx, a.db.R, func(rows *sql.Rows, b *media.Blob) error {
		return rows.Scan(&b.SHA256, &b.Size, &b.ContentType)
	}, `SELECT sha256, size, content_type FROM media WHERE sha256 > ? ORDER BY 1 LIMIT ?`, after, verifyChunk)
}

func (c *check) blob(ctx context.Context, want media.Blob, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	r, got, err := a.media.Open(ctx, want.SHA256)
	switch {
	case errors.Is(err, media.ErrNotFound):
		d := Damage{Class: DamageFileMissing, Path: media.Path(a.media, want.SHA256), What: "the file of a recording is missing"}
		c.repair(&d, o, func() error { return c.repairRecording(ctx, want.SHA256, false, &d) })
		found(d)
		return nil
	case err != nil:
		return err
	}
	defer r.Close()
	d := Damage{Class: DamageFile, Path: media.Path(a.media, want.SHA256)}
	switch {
	case got.Size != want.Size:
		d.What = fmt.Sprintf("it has %d bytes and not %d", got.Size, want.Size)
	case o.SkipMedia:
		return nil
	default:
		h := sha256.New()
		if _, err := io.Copy(h, seal.ContextReader(ctx, r)); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			d.What = "it cannot be read: " + err.Error()
		} else if sum := hex.EncodeToString(h.Sum(nil)); sum != want.SHA256 {
			d.What = "its bytes have the hash " + sum
		} else {
			return nil
		}
	}
	c.repair(&d, o, func() error { return c.repairRecording(ctx, want.SHA256, true, &d) })
	found(d)
	return nil
}

// dropRecording takes a recording that is lost out of its meetings and has it
// fetched again. A damaged file is put aside under media/damaged, with a mark for
// each of the meetings, which forgetting them looks for.
func (a *Archive) dropRecording(ctx context.Context, sha string, aside bool) error {
	a.blobs.Lock()
	defer a.blobs.Unlock()
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		ids, err := sqlite.Column[int64](t.Context(), t, `DELETE FROM attachments WHERE sha256 = ? RETURNING recording_id`, sha)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := deriveMedia(ctx, tx, id); err != nil {
				return err
			}
			if _, err := t.Exec(`DELETE FROM downloads WHERE recording_id = ? AND state = 'done'`, id); err != nil {
				return err
			}
			if err := t.changed(id, ChangeMedia, ""); err != nil {
				return err
			}
			if aside {
				if err := setMarks(ctx, tx, []Mark{damagedOf(sha, id)}); err != nil {
					return err
				}
			}
		}
		_, err = t.Exec(`DELETE FROM media WHERE sha256 = ?`, sha)
		return err
	})
	if err != nil || !aside {
		return err
	}
	return media.Quarantine(ctx, a.media, a.dir, sha)
}

// unknownBlobs looks for blobs that no row names: a crash between storing and
// attaching leaves one, which the next fetch of the recording uses.
func (c *check) unknownBlobs(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	return a.media.Walk(ctx, func(b media.Blob) error {
		var used bool
		err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM media WHERE sha256 = ?)`, b.SHA256).Scan(&used)
		if err != nil || used {
			return err
		}
		d := Damage{Class: DamageFileExtra, Path: media.Path(a.media, b.SHA256), What: "no meeting has this recording"}
		if o.Repair {
			c.repair(&d, o, func() error { return a.unknownAside(ctx, b.SHA256, &d) })
		}
		found(d)
		return nil
	})
}

// unknownAside puts a blob aside that no meeting has, with a mark for each meeting
// for which it was fetched. One that the retention rules were deleting is deleted.
func (a *Archive) unknownAside(ctx context.Context, sha string, d *Damage) error {
	expired, err := a.Marks(ctx, expiredBlob+sha)
	if err != nil {
		return err
	}
	if len(expired) > 0 {
		_, err := a.DropBlob(ctx, sha)
		return err
	}
	ids, err := sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM downloads WHERE sha256 = ?`, sha)
	if err != nil {
		return err
	}
	a.blobs.Lock()
	defer a.blobs.Unlock()
	var used bool
	if err := a.db.W.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM attachments WHERE sha256 = ?)`, sha).Scan(&used); err != nil || used {
		return err // attached meanwhile
	}
	for _, id := range ids {
		if err := a.SetMarks(ctx, damagedOf(sha, id)); err != nil {
			return err
		}
	}
	d.Outcome, d.Aside = "put aside", media.QuarantinePath(a.media, a.dir, sha)
	return media.Quarantine(ctx, a.media, a.dir, sha)
}
