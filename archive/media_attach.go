package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive/media"
	"minutebook/internal/bucket"
	"minutebook/internal/sqlite"
)

// MediaKind is the kind of a recording.
type MediaKind string

// The kinds of recording.
const (
	MediaVideo MediaKind = "video"
	MediaAudio MediaKind = "audio"
)

// Media returns the store of the recordings.
func (a *Archive) Media() media.Store { return a.media }

// stores returns the stores that may have a blob: the configured one, and perhaps a former one, see
// [media.Former].
func (a *Archive) stores() []media.Store {
	if former := media.Former(a.mediaDir, a.dir, a.identity); former != nil {
		return []media.Store{a.media, former}
	}
	return []media.Store{a.media}
}

// PartialPath is the file in which an interrupted download of that name grows.
// For a meeting's recording the name is its recording_id: forgetting the meeting
// deletes the file.
func (a *Archive) PartialPath(name string) string { return media.PartialPath(a.dir, name) }

// MediaDir returns the directory on whose disk the next recording takes room: that of the store,
// or the data directory for a bucket, and where the store's is not there.
func (a *Archive) MediaDir() string {
	if dir := media.Dir(a.media); dir != "" {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return a.dir
}

// Attached is a recording of a meeting.
type Attached struct {
	Kind MediaKind
	media.Blob
	At time.Time // when it was attached
}

// unattachedMark begins the marks of the meetings of a file that is no recording of
// theirs: it lies in media/damaged, or an import is storing it. The key is
// damaged/SHA256/RECORDING_ID.
const unattachedMark = "damaged/"

func markUnattached(sha string, id int64) Mark {
	return Mark{Key: unattachedMark + sha + "/" + strconv.FormatInt(id, 10), Value: []byte{1}}
}

// ExpectMedia notes that a file is about to be stored for a meeting, so that forgetting the
// meeting finds it after a crash. AttachMedia or DropExpected ends the note.
func (a *Archive) ExpectMedia(ctx context.Context, id int64, sha string) error {
	return a.SetMarks(ctx, markUnattached(sha, id))
}

// BeginStoring says that a blob is being stored, and then attached, until end is called. A check
// does not take it for a blob of no meeting meanwhile, and a repair leaves it where it is.
func (a *Archive) BeginStoring(sha string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.storing[sha]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.storing[sha]--; a.storing[sha] == 0 {
			delete(a.storing, sha)
		}
	}
}

func (a *Archive) isStoring(sha string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.storing[sha] > 0
}

// DropExpected deletes a file that was stored for a meeting, and could not be attached,
// unless another meeting has it. A damaged copy that lies aside stays.
func (a *Archive) DropExpected(ctx context.Context, id int64, sha string) error {
	if _, err := a.DropBlob(ctx, sha); err != nil {
		return err
	}
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error { return a.endExpecting(ctx, tx, id, sha) })
}

// DropBlob deletes a blob from the store, and from the data directory where the store was before,
// unless a meeting has it. It reports whether it deleted the blob.
func (a *Archive) DropBlob(ctx context.Context, sha string) (dropped bool, err error) {
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer a.blobs.Release(1)
	if attached, err := a.isAttached(ctx, sha); attached || err != nil {
		return false, err
	}
	for _, s := range a.stores() {
		_, err := s.Stat(ctx, sha)
		if bucket.IsLate(err) {
			return dropped, err
		}
		dropped = dropped || !errors.Is(err, ErrNotFound)
		if err := s.Delete(ctx, sha); err != nil { // also without the blob, since parts may remain
			return dropped, err
		}
	}
	return dropped, nil
}

// isAttached waits for whoever writes: a meeting may be getting the blob.
func (a *Archive) isAttached(ctx context.Context, sha string) (attached bool, err error) {
	err = a.db.UseWriter(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM attachments WHERE sha256 = ?)`, sha).Scan(&attached)
	})
	return attached, err
}

// noteStore notes which directory has the recordings, so that a later start misses it also where
// the archive expects no blob in it. A store that cannot be used says so at its first use.
func (a *Archive) noteStore(ctx context.Context) error {
	if media.Dir(a.media) == "" || media.Check(ctx, a.media) != nil {
		return ctx.Err()
	}
	_, err := a.db.ExecContext(ctx, `INSERT INTO info (name, value) VALUES ('media', ?)
		ON CONFLICT DO UPDATE SET value = excluded.value WHERE value <> excluded.value`, a.storeDir())
	if err != nil {
		return fmt.Errorf("note where the recordings are: %w", err)
	}
	return nil
}

// storeDir is the directory of the recordings, relative to the data directory where it is below it.
func (a *Archive) storeDir() string {
	return strings.TrimPrefix(media.Dir(a.media), a.dir+string(filepath.Separator))
}

// expectsBlob reports whether the archive has, or still has to delete, a blob whose SHA-256
// begins with a prefix. With an empty one it also reports that it has used the directory before.
func (a *Archive) expectsBlob(ctx context.Context, prefix string) (expected bool, err error) {
	err = a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM media WHERE sha256 BETWEEN ?1 AND ?1 || 'g') OR
		?1 = '' AND EXISTS (SELECT 1 FROM info WHERE name = 'media' AND value = ?2) OR
		EXISTS (SELECT 1 FROM tombstones, json_each(blobs) WHERE done_at IS NULL AND value BETWEEN ?1 AND ?1 || 'g') OR
		EXISTS (SELECT 1 FROM marks WHERE key BETWEEN '`+expiredBlob+`' || ?1 AND '`+expiredBlob+`' || ?1 || 'g')`, prefix, a.storeDir()).Scan(&expected)
	if err != nil {
		return false, fmt.Errorf("look for expected recordings: %w", err)
	}
	return expected, nil
}

// endExpecting ends the note that a file is being stored for a meeting. Where a copy of the
// file lies aside, perhaps without a known meeting, the mark says that it is of this one.
func (a *Archive) endExpecting(ctx context.Context, tx *sql.Tx, id int64, sha string) error {
	mark := markUnattached(sha, id)
	if !a.liesAside(sha) {
		mark.Value = nil
	}
	return setMarks(ctx, tx, []Mark{mark})
}

// asidePaths returns where a repair may have put a damaged blob.
func (a *Archive) asidePaths(sha string) (paths []string) {
	for _, s := range a.stores() {
		paths = append(paths, media.QuarantinePath(s, a.dir, sha))
	}
	return slices.Compact(paths) // that of a bucket is in the data directory
}

// liesAside reports whether a copy of a file may lie in media/damaged.
func (a *Archive) liesAside(sha string) bool {
	return slices.ContainsFunc(a.asidePaths(sha), func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// AttachMedia makes a blob of the store a recording of a meeting and logs the
// change; once more changes nothing. It fails with ErrNoBlob when the store does
// not hold the blob, and with ErrNotFound or ErrForgotten when the archive does
// not hold the meeting.
func (a *Archive) AttachMedia(ctx context.Context, id int64, kind MediaKind, b media.Blob) error {
	if kind != MediaVideo && kind != MediaAudio {
		return fmt.Errorf("attach recording to %d: unknown kind %q", id, kind)
	}
	if err := a.blobs.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("attach recording to %d: %w", id, err)
	}
	defer a.blobs.Release(1)
	blob, err := a.media.Stat(ctx, b.SHA256)
	if errors.Is(err, ErrNotFound) {
		err = ErrNoBlob
	}
	if err != nil {
		return fmt.Errorf("attach recording to %d: %w", id, err)
	}
	if b.ContentType == "" {
		b.ContentType = blob.ContentType
	}
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		if err := checkKnown(ctx, tx, id); err != nil {
			return err
		}
		if err := a.endExpecting(ctx, tx, id, b.SHA256); err != nil {
			return err
		}
		now := a.now()
		if _, err := tx.ExecContext(ctx, `INSERT INTO media (sha256, size, content_type, stored_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, b.SHA256, blob.Size, b.ContentType, now.UnixMilli()); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO attachments (recording_id, kind, sha256, attached_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, id, kind, b.SHA256, now.UnixMilli())
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if IsForeignID(id) { // else its row says whom the service forbade it
			if _, err := tx.ExecContext(ctx, `DELETE FROM downloads WHERE recording_id = ? AND state = 'deleted'`, id); err != nil {
				return err
			}
		}
		if err := deriveMedia(ctx, tx, id); err != nil {
			return err
		}
		return logChange(ctx, tx, id, ChangeMedia, "", now)
	})
	if err != nil {
		return fmt.Errorf("attach recording to %d: %w", id, err)
	}
	return nil
}

// deriveMedia sets has_video and has_audio from the attachments.
func deriveMedia(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE meetings SET
		has_video = EXISTS (SELECT 1 FROM attachments a WHERE a.recording_id = ?1 AND kind = 'video'),
		has_audio = EXISTS (SELECT 1 FROM attachments a WHERE a.recording_id = ?1 AND kind = 'audio')
		WHERE recording_id = ?1`, id)
	return err
}

// MediaOf returns a meeting's recordings, the newest first; a meeting without
// any, or not known, has none.
func (a *Archive) MediaOf(ctx context.Context, id int64) ([]Attached, error) {
	attached, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, m *Attached) error {
		var at int64
		if err := rows.Scan(&m.Kind, &m.SHA256, &m.Size, &m.ContentType, &at); err != nil {
			return err
		}
		m.At = sqlite.Time(at)
		return nil
	}, `SELECT a.kind, a.sha256, m.size, m.content_type, a.attached_at
		FROM attachments a JOIN media m USING (sha256) WHERE a.recording_id = ?
		ORDER BY a.attached_at DESC, a.kind DESC, a.sha256`, id)
	if err != nil {
		return nil, fmt.Errorf("read recordings of %d: %w", id, err)
	}
	return attached, nil
}
