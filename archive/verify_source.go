package archive

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"minutebook/archive/generation"
	"minutebook/internal/diskspace"
	"minutebook/internal/durable"
	"minutebook/internal/seal"
	"minutebook/internal/sqlite"
)

// BackupSource is a directory of backups from which a repair restores content. Its
// databases are unpacked into the data directory at their first use, the newest
// generation's first.
type BackupSource struct {
	keys   []age.Identity
	in     string                  // the data directory
	temp   string                  // the directory of the unpacked databases there; "": none yet
	all    []generation.Generation // the newest first
	unread error                   // why there are more, whose content is unknown
	opened map[string]*sql.DB      // by the generation's name
}

// OpenBackupSource opens a directory of backups for a repair of the archive. It fails
// when the directory has no backup of this archive. The caller closes it.
func (a *Archive) OpenBackupSource(ctx context.Context, dir string, keys ...age.Identity) (*BackupSource, error) {
	all, err := generation.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	lineage, err := a.Lineage(ctx)
	if err != nil {
		return nil, err
	}
	s := &BackupSource{keys: keys, in: a.dir, opened: map[string]*sql.DB{}}
	for _, g := range slices.Backward(all) {
		switch {
		case errors.Is(g.Damage, fs.ErrPermission):
			s.unread = fmt.Errorf("%s may have it: %w", g.Path(), durable.ExplainAccess(dir, g.Damage))
		case g.Damage != nil:
			s.unread = fmt.Errorf("%s cannot be read (%w), and may have it; delete it when nothing is to be had from it", g.Path(), g.Damage)
		case g.Lineage[0] != lineage[0]:
		case g.Encrypted && len(keys) == 0:
			s.unread = fmt.Errorf("%s is encrypted with age, and may have it; no identity was given", g.Path())
		default:
			s.all = append(s.all, g)
		}
	}
	if len(s.all) == 0 {
		return nil, fmt.Errorf("repair from %s: %w", dir, cmp.Or(s.unread, fmt.Errorf("it has no backup of this archive (%s)", lineage[0])))
	}
	return s, nil
}

// Close removes the unpacked databases.
func (s *BackupSource) Close() (err error) {
	for _, db := range s.opened {
		err = errors.Join(err, db.Close())
	}
	if s.temp != "" {
		err = errors.Join(err, os.RemoveAll(s.temp))
	}
	return err
}

// findRevision searches a revision's content: in the unpacked generations, and then in the
// others, the newest first. So on a disk without room for all of them, one that has much of the
// lost content stays unpacked.
func (s *BackupSource) findRevision(ctx context.Context, a *Archive, want stored) (raw []byte, where string, err error) {
	isUnpacked := func(g generation.Generation) bool { return s.opened[g.Name] != nil }
	others := slices.DeleteFunc(slices.Clone(s.all), isUnpacked)
	unpacked := slices.DeleteFunc(slices.Clone(s.all), func(g generation.Generation) bool { return !isUnpacked(g) })
	for _, g := range append(unpacked, others...) {
		db, err := s.openDatabase(ctx, g)
		if _, ok := errors.AsType[*generation.DamagedError](err); ok {
			continue // an older one may have it
		}
		if err != nil {
			return nil, "", err
		}
		raw, err := a.codec.findBody(ctx, db, `r.recording_id = ? AND r.part = ? AND r.hash = ?`, want, want.recordingID, want.part, want.hash)
		if raw != nil || err != nil {
			return raw, g.Path(), err
		}
	}
	return nil, "", s.unread
}

// findRevisionByID searches a revision without a row by its number, the newest generation
// first, and sets its meeting and part in want. The revision must have the content
// own, or the meeting and part must be known.
func (s *BackupSource) findRevisionByID(ctx context.Context, a *Archive, want *stored, own []byte) ([]byte, string, error) {
	for _, g := range s.all {
		db, err := s.openDatabase(ctx, g)
		if _, ok := errors.AsType[*generation.DamagedError](err); ok {
			continue // an older one may have it
		}
		if err != nil {
			return nil, "", err
		}
		candidate := stored{id: want.id}
		err = db.QueryRowContext(ctx, `SELECT recording_id, part, hash FROM revisions WHERE id = ?`, want.id).Scan(&candidate.recordingID, &candidate.part, &candidate.hash)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		raw, err := a.codec.findBody(ctx, db, `r.id = ?`, candidate, want.id)
		if err != nil {
			return nil, "", err
		}
		if own != nil && candidate.matches(own) || own == nil && raw != nil && candidate.recordingID == want.recordingID && candidate.part == want.part {
			want.recordingID, want.part = candidate.recordingID, candidate.part
			return firstNonNil(own, raw), g.Path(), nil
		}
	}
	return own, "its own bytes", s.unread
}

// openDatabase returns the unpacked archive.db of a generation.
func (s *BackupSource) openDatabase(ctx context.Context, g generation.Generation) (*sql.DB, error) {
	if db := s.opened[g.Name]; db != nil {
		return db, nil
	}
	i := slices.IndexFunc(g.Files, func(f generation.File) bool { return strings.HasPrefix(path.Base(f.Path), "archive.db") })
	if i < 0 {
		return nil, fmt.Errorf("%s has no archive.db", g.Path())
	}
	if err := checkBackup(ctx, g, g.Files[i]); err != nil {
		return nil, err
	}
	r, err := g.Open(ctx, g.Files[i], s.keys)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := s.makeRoom(g.Files[i].PlainSize); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", g.Path(), err)
	}
	if s.temp == "" {
		if s.temp, err = os.MkdirTemp(s.in, durable.TempPrefix+"repair-*"); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", g.Path(), err)
		}
	}
	to := s.unpackedPath(g)
	if err := durable.Write(to, func(w io.Writer) error { _, err := seal.Copy(ctx, w, r); return err }); err != nil {
		return nil, err
	}
	db := sqlite.Connect(to, "?mode=ro&immutable=1", nil)
	s.opened[g.Name] = db
	return db, nil
}

// checkBackup compares a file of a generation with its description. It fails with a
// [generation.DamagedError], or with another error where the generation has gone away since it
// was listed, such as with its disk: then its content is unknown.
func checkBackup(ctx context.Context, g generation.Generation, f generation.File) error {
	err := generation.CheckFiles(ctx, g.Place, []generation.File{f})
	if _, ok := errors.AsType[*generation.DamagedError](err); ok {
		manifest, gone := g.Place.Open(ctx, g.ManifestFile())
		if gone != nil {
			return fmt.Errorf("%s cannot be read any more, and may have it: %w", g.Path(), gone)
		}
		return errors.Join(err, manifest.Close())
	}
	return err
}

// makeRoom removes unpacked databases, those of the oldest generations first, until the disk has
// room for one more: a daemon may be writing there. They are unpacked again at their next use.
func (s *BackupSource) makeRoom(need int64) error {
	for _, g := range slices.Backward(s.all) {
		db := s.opened[g.Name]
		if db == nil || diskspace.CheckRoom(s.in, need) == nil {
			continue
		}
		delete(s.opened, g.Name)
		if err := errors.Join(db.Close(), os.Remove(s.unpackedPath(g))); err != nil {
			return err
		}
	}
	return diskspace.CheckRoom(s.in, need)
}

func (s *BackupSource) unpackedPath(g generation.Generation) string {
	return filepath.Join(s.temp, g.Name+".db")
}

// openRecording opens a recording in the newest generation that has it undamaged. It
// fails with ErrNotFound when all could be read and none has it.
func (s *BackupSource) openRecording(ctx context.Context, sha string) (io.ReadCloser, string, error) {
	for _, g := range s.all {
		for _, f := range g.Files {
			if f.PlainSHA256 != sha || !strings.HasPrefix(f.Path, "media/") {
				continue
			}
			err := checkBackup(ctx, g, f)
			if _, ok := errors.AsType[*generation.DamagedError](err); ok {
				continue // an older one may have it
			}
			if err != nil {
				return nil, "", err
			}
			r, err := g.Open(ctx, f, s.keys)
			return r, g.Path(), err
		}
	}
	return nil, "", cmp.Or(s.unread, ErrNotFound)
}
