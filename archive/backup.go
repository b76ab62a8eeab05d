package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"minutebook/internal/durable"
)

// BackupOptions say how to back up.
type BackupOptions struct {
	// Recipients, when there are any, have databases and recordings encrypted
	// for them. Sizes and hashes stay readable, so that a backup can be checked
	// without the key.
	Recipients []age.Recipient
	// WithoutMedia leaves the recordings out: they are kept elsewhere, such as
	// in a bucket with versions of its own.
	WithoutMedia bool
	// Progress, when set, is called after each file.
	Progress func(done, total int)
}

// BackupResult is what a backup did.
type BackupResult struct {
	Manifest Manifest `json:"-"`
	Copied   int      `json:"copied"` // files
	Kept     int      `json:"kept"`   // recordings that were there from an earlier backup
	Bytes    int64    `json:"bytes"`  // copied, as stored
}

// snapshotPrefix begins the names of the directories with a backup's databases.
const snapshotPrefix = "snapshot-"

// Backup copies the archive to a directory while everything goes on: the
// databases as they are at one moment each, the inbox before the archive, so
// that what was acknowledged is in one of the two; and the recordings that are
// not there yet. The manifest, with the hash of every file, comes last and in
// one step: until then an earlier backup in the directory is the valid one, and
// after it the earlier one's databases are removed. A run that was interrupted
// leaves nothing that the next does not clear away.
func (a *Archive) Backup(ctx context.Context, dest string, o BackupOptions) (BackupResult, error) {
	b := &backup{archive: a, BackupOptions: o}
	var err error
	if b.dest, err = filepath.Abs(dest); err == nil {
		err = b.run(ctx)
	}
	if err != nil {
		return BackupResult{}, fmt.Errorf("back up to %s: %w", dest, err)
	}
	return b.result, nil
}

// backup is one run of Backup.
type backup struct {
	BackupOptions
	archive *Archive
	dest    string
	dir     string // the snapshot's, below dest
	earlier map[string]ManifestFile
	files   []ManifestFile
	total   int
	result  BackupResult
}

func (b *backup) run(ctx context.Context) error {
	if b.dest == b.archive.dir || strings.HasPrefix(b.dest, b.archive.dir+string(filepath.Separator)) {
		return errors.New("the backup would lie in the data directory itself")
	}
	if err := durable.MkdirAll(b.dest); err != nil {
		return err
	}
	if err := b.readEarlier(); err != nil {
		return err
	}
	var m Manifest
	for try := 1; ; try++ {
		var err error
		if m, err = b.snapshot(ctx); err != nil {
			return err
		}
		same, err := b.nothingForgotten(ctx, m)
		if err != nil {
			return err
		}
		if same {
			break
		}
		if try == 5 {
			return errors.New("meetings are being forgotten all the while; try again later")
		}
	}
	if err := writeManifest(b.dest, m); err != nil {
		return err
	}
	b.result.Manifest = m
	if err := b.archive.NoteBackup(ctx, b.dest, m.TakenAt); err != nil {
		return err
	}
	return b.sweep(m)
}

// readEarlier reads which recordings an earlier backup has brought here. A
// damaged manifest counts as none: everything is copied again.
func (b *backup) readEarlier() error {
	b.earlier = map[string]ManifestFile{}
	m, err := readManifest(b.dest)
	if err != nil {
		var damaged *DamagedError
		if errors.As(err, &damaged) || errors.Is(err, ErrNoBackup) {
			return nil
		}
		return err
	}
	for _, f := range m.Files {
		b.earlier[f.Path] = f
	}
	return nil
}

// snapshot copies databases and recordings and describes them.
func (b *backup) snapshot(ctx context.Context) (Manifest, error) {
	b.files, b.result = nil, BackupResult{}
	now := b.archive.now().UTC()
	dir, err := os.MkdirTemp(b.dest, snapshotPrefix+now.Format("20060102T150405Z")+"-")
	if err != nil {
		return Manifest{}, fmt.Errorf("make directory: %w", err)
	}
	b.dir = filepath.Base(dir)
	dbs, err := b.archive.databaseFiles()
	if err != nil {
		return Manifest{}, err
	}
	b.total = len(dbs)
	m := Manifest{Version: manifestVersion, TakenAt: now, Encrypted: len(b.Recipients) > 0, WithoutMedia: b.WithoutMedia}
	for _, path := range dbs {
		if err := b.whole(ctx, path, &m); err != nil {
			return Manifest{}, err
		}
	}
	if !b.WithoutMedia {
		if err := b.media(ctx, m.blobs); err != nil {
			return Manifest{}, err
		}
	}
	m.Files = b.files
	return m, errors.Join(durable.SyncDir(dir), durable.SyncDir(b.dest))
}

// whole copies a database, the inbox once all of it is in its file.
func (b *backup) whole(ctx context.Context, path string, m *Manifest) error {
	if path == b.archive.inbox.Path() {
		release, err := b.archive.inbox.Whole(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	return b.database(ctx, path, m)
}

// databaseFiles lists the databases of the data directory, open here or not, the
// archive's own last.
func (a *Archive) databaseFiles() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(a.dir), "*.db"))
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == a.db.Path })
	return append(paths, a.db.Path), nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// nothingForgotten tells whether the snapshot holds no meeting that was
// forgotten while it was made.
func (b *backup) nothingForgotten(ctx context.Context, m Manifest) (bool, error) {
	n, err := tombstones(ctx, b.archive.db.R)
	return n == m.forgotten, err
}

func tombstones(ctx context.Context, db *sql.DB) (n int, err error) {
	if err = db.QueryRowContext(ctx, `SELECT count(*) FROM tombstones`).Scan(&n); err != nil {
		err = fmt.Errorf("count tombstones: %w", err)
	}
	return n, err
}

// sweep removes from the destination what the manifest does not name: databases
// of earlier backups, unfinished files, recordings that were forgotten.
func (b *backup) sweep(m Manifest) error {
	named := map[string]bool{}
	for _, f := range m.Files {
		named[filepath.FromSlash(f.Path)] = true
	}
	entries, err := os.ReadDir(b.dest)
	if err != nil {
		return fmt.Errorf("list earlier backups: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), snapshotPrefix) && e.Name() != b.dir || strings.HasPrefix(e.Name(), durable.TempPrefix) {
			if err := os.RemoveAll(filepath.Join(b.dest, e.Name())); err != nil {
				return fmt.Errorf("remove earlier backup: %w", err)
			}
		}
	}
	if m.WithoutMedia {
		return durable.SyncDir(b.dest)
	}
	return b.sweepMedia(named)
}

func (b *backup) sweepMedia(named map[string]bool) error {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(b.dest), "media", "??", "*"))
	if err != nil {
		return fmt.Errorf("list recordings of the backup: %w", err)
	}
	for _, path := range paths {
		rel, err := filepath.Rel(b.dest, path)
		if err != nil {
			return fmt.Errorf("list recordings of the backup: %w", err)
		}
		if named[rel] {
			continue
		}
		if err := durable.Remove(path); err != nil {
			return err
		}
	}
	return durable.SyncDir(b.dest)
}

// mediaPath is where a backup keeps a recording.
func mediaPath(sha string, sealed bool) string {
	if sealed {
		return "media/" + sha[:2] + "/" + sha + ".age"
	}
	return "media/" + sha[:2] + "/" + sha
}

// stampOf is a time in a manifest, to the second.
func stampOf(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
