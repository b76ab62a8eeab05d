package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"minutebook/internal/durable"
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
	if files, ok := a.media.(*fileStore); ok {
		return files.strays(ctx, found)
	}
	return nil
}

func (a *Archive) blobsAfter(ctx context.Context, after string) ([]Blob, error) {
	rows, err := a.db.R.QueryContext(ctx, `SELECT sha256, size, content_type FROM media WHERE sha256 > ? ORDER BY 1 LIMIT ?`, after, verifyChunk)
	if err != nil {
		return nil, err
	}
	var list []Blob
	return list, sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var b Blob
		err := rows.Scan(&b.SHA256, &b.Size, &b.ContentType)
		list = append(list, b)
		return err
	})
}

func (c *check) blob(ctx context.Context, want Blob, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	r, got, err := a.media.Open(ctx, want.SHA256)
	switch {
	case errors.Is(err, ErrNotFound):
		d := Damage{Class: DamageFileMissing, Path: a.blobPath(want.SHA256), What: "the file of a recording is missing"}
		c.repair(&d, o, func() error { return c.repairRecording(ctx, want.SHA256, false, &d) })
		found(d)
		return nil
	case err != nil:
		return err
	}
	defer r.Close()
	d := Damage{Class: DamageFile, Path: a.blobPath(want.SHA256)}
	switch {
	case got.Size != want.Size:
		d.What = fmt.Sprintf("it has %d bytes and not %d", got.Size, want.Size)
	case o.SkipMedia:
		return nil
	default:
		h := sha256.New()
		if _, err := io.Copy(h, contextReader{ctx, r}); err != nil {
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

// blobPath is what a blob is called in a message.
func (a *Archive) blobPath(sha string) string {
	if files, ok := a.media.(*fileStore); ok {
		return files.path(sha)
	}
	return sha
}

// dropRecording takes a recording that is lost out of its meetings and has it
// fetched again. A damaged file is put aside under media/damaged, with a mark for
// each of the meetings, which forgetting them looks for.
func (a *Archive) dropRecording(ctx context.Context, sha string, aside bool) error {
	a.blobs.Lock()
	defer a.blobs.Unlock()
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		var ids []int64
		err := t.Each(`DELETE FROM attachments WHERE sha256 = ? RETURNING recording_id`, []any{sha}, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
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
	return a.blobAside(ctx, sha)
}

// unknownBlobs looks for blobs that no row names: a crash between storing and
// attaching leaves one, which the next fetch of the recording uses.
func (c *check) unknownBlobs(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	a := c.archive
	return a.media.Walk(ctx, func(b Blob) error {
		var used bool
		err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM media WHERE sha256 = ?)`, b.SHA256).Scan(&used)
		if err != nil || used {
			return err
		}
		d := Damage{Class: DamageFileExtra, Path: a.blobPath(b.SHA256), What: "no meeting has this recording"}
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
	d.Outcome, d.Aside = "put aside", a.asideStore().asidePath(sha)
	return a.blobAside(ctx, sha)
}

// asideStore is where damaged recordings are put, on this disk also when the
// recordings are not.
func (a *Archive) asideStore() *fileStore {
	if files, ok := a.media.(*fileStore); ok {
		return files
	}
	return &fileStore{filepath.Join(a.dir, "media")}
}

func (s *fileStore) asidePath(sha string) string { return filepath.Join(s.dir, "damaged", sha) }

// putAside moves a damaged file out of the store, under media/damaged.
func (s *fileStore) putAside(sha string) error {
	aside := s.asidePath(sha)
	if err := durable.MkdirAll(filepath.Dir(aside)); err != nil {
		return fmt.Errorf("put damaged recording aside: %w", err)
	}
	return durable.Rename(s.path(sha), aside)
}

// strays names files in the media directory that are neither blobs nor partial
// downloads nor what file managers and network storage leave everywhere. They
// are someone's, and never deleted.
func (s *fileStore) strays(ctx context.Context, found func(Damage)) error {
	return filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := d.Name()
		if path != s.dir && sideFile(name) || d.IsDir() && filepath.Dir(path) == s.dir && (name == "partial" || name == "damaged") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || validSHA(name) && path == s.path(name) {
			return nil
		}
		found(Damage{Class: DamageFileExtra, Path: path, What: "this is no recording of the archive"})
		return nil
	})
}

// sideFile tells what desktops, network storage and file synchronisation leave
// in every directory.
func sideFile(name string) bool {
	switch strings.ToLower(name) {
	case "@eadir", "#recycle", "#snapshot", ".ds_store", "thumbs.db", "desktop.ini", "lost+found", ".snapshot", ".snapshots",
		".zfs", ".appledouble", ".appledb", ".spotlight-v100", ".trashes", ".fseventsd", ".stfolder", ".stignore",
		".stversions", ".sync", ".directory", "@tmp", "@recycle", "$recycle.bin", "system volume information":
		return true
	}
	for _, prefix := range []string{"._", ".nfs", ".fuse_hidden", ".syncthing.", ".trash-", "~syncthing~", ".smbdelete"} {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, "@SynoResource") || strings.HasSuffix(name, "@SynoEAStream")
}

// sweepPartial deletes the temporary files that a crash left while blobs were
// being stored; interrupted downloads stay.
func (s *fileStore) sweepPartial() error {
	dir := filepath.Join(s.dir, "partial")
	names, err := fs.Glob(os.DirFS(dir), durable.TempPrefix+"*")
	if err != nil {
		return fmt.Errorf("look for unfinished recordings: %w", err)
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("delete unfinished recording: %w", err)
		}
	}
	return nil
}
