package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	// Keep is how many generations stay in the directory; 0 removes none.
	Keep int
	// AcceptFewer says that meetings of earlier generations are missing with good
	// reason: from this generation on, they are no longer looked for.
	AcceptFewer bool
	// Progress, when set, is called after each file.
	Progress func(done, total int)
}

// BackupResult is what a backup did.
type BackupResult struct {
	Manifest   Manifest `json:"-"`
	Generation string   `json:"generation"` // its name
	Copied     int      `json:"copied"`     // files
	Kept       int      `json:"kept"`       // recordings that were there from an earlier backup
	Bytes      int64    `json:"bytes"`      // copied, as stored
	Pruned     []string `json:"pruned"`     // older generations that were removed
	// Doubts say why no older generation was removed although the new one is
	// whole: something is in them that may be lost here.
	Doubts []string `json:"doubts"`
	// Lost are the recordings that could not be backed up, for the archive's own
	// copies are missing or damaged. Nothing is removed then either.
	Lost []LostRecording `json:"lost"`
}

// Backup adds a generation to a directory of backups while everything goes on:
// the databases as they are at one moment each, the inbox before the archive, so
// that what was acknowledged is in one of the two; and the recordings that no
// earlier generation has brought there. The manifest, with the hash of every
// file, comes last and in one step: until then there is no generation. It is then
// read back, and only after that older ones are removed, and only when nothing
// that they hold can be missing here. A run that was interrupted leaves nothing
// that the next does not clear away. It fails in a directory of another archive.
func (a *Archive) Backup(ctx context.Context, dest string, o BackupOptions) (BackupResult, error) {
	b := &backup{archive: a, BackupOptions: o}
	var err error
	if b.dest, err = filepath.Abs(dest); err == nil {
		err = b.run(ctx)
	}
	if err != nil {
		return BackupResult{}, fmt.Errorf("back up to %s: %w", dest, damaged(err))
	}
	return b.result, nil
}

// backup is one run of Backup.
type backup struct {
	BackupOptions
	archive *Archive
	dest    string
	there   *backupDir
	dir     string // the generation's, below dest
	earlier map[string]ManifestFile
	files   []ManifestFile
	fresh   []ManifestFile // those of files that this run wrote
	total   int
	result  BackupResult
}

func (b *backup) run(ctx context.Context) (err error) {
	if err := refuseDataDir(b.dest, b.archive.dir); err != nil {
		return err
	}
	if b.there, err = openBackupDir(b.dest); err != nil {
		return err
	}
	defer func() {
		if err != nil { // a meeting in the copy may be forgotten before the next backup clears the copy away
			err = errors.Join(err, b.there.sweep(), b.archive.noteGenerations(context.WithoutCancel(ctx), b.there))
		}
		err = errors.Join(err, b.there.lock.release())
	}()
	ours, err := lineage(ctx, b.archive.db.R)
	if err != nil {
		return err
	}
	b.earlier = map[string]ManifestFile{}
	for _, g := range b.there.all {
		if err := g.refuseForeign(ours); err != nil {
			return err
		}
		for _, f := range g.Files {
			b.earlier[f.Path] = f
		}
	}
	m, err := b.whole(ctx)
	if err != nil {
		return err
	}
	b.result.Manifest, b.result.Generation = m, b.dir
	if b.result.Doubts, err = b.doubts(ctx, m); err != nil {
		return err
	}
	return b.prune(ctx, m)
}

// refuseDataDir fails for a directory of backups that lies in the data directory,
// whatever links lead there, or is one of any archive: what a backup clears away
// there would be recordings.
func refuseDataDir(dest, dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for at := dest; ; at = filepath.Dir(at) { // the last ones may not be there yet
		if there, err := filepath.EvalSymlinks(at); err == nil && (there == real || strings.HasPrefix(there, real+string(filepath.Separator))) {
			return errors.New("the backup would lie in the data directory itself")
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	for _, name := range []string{"archive.db", "inbox.db", restoringName} {
		if _, err := os.Lstat(filepath.Join(dest, name)); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("it is a data directory, with its own %s; back up to a directory of its own", name), err)
		}
	}
	return nil
}

// whole makes a generation in which nothing is that was forgotten meanwhile.
func (b *backup) whole(ctx context.Context) (Manifest, error) {
	number := 1
	for _, e := range b.there.names() {
		number = max(number, numberIn(e)+1)
	}
	for try := range 5 {
		b.dir = fmt.Sprintf("%s%06d", generationPrefix, number+try)
		m, again, err := b.generation(ctx)
		if err == nil && !again {
			return m, nil
		}
		g := Generation{Dir: b.dest, Name: b.dir, number: number + try}
		if err = errors.Join(err, b.there.remove(g)); err != nil {
			return m, err
		}
	}
	return Manifest{}, errors.New("meetings are being forgotten all the while; try again later")
}

// generation copies databases and recordings, reads back what it wrote and gives
// it a manifest. again: a meeting was forgotten meanwhile, and may be in it.
func (b *backup) generation(ctx context.Context) (m Manifest, again bool, err error) {
	b.files, b.fresh, b.result = nil, nil, BackupResult{Lost: []LostRecording{}}
	m = Manifest{Version: manifestVersion, TakenAt: b.archive.now().UTC().Truncate(time.Millisecond), Encrypted: len(b.Recipients) > 0,
		WithoutMedia: b.WithoutMedia, AcceptedFewer: b.AcceptFewer}
	before, open, err := b.archive.tombstones(ctx)
	if err != nil {
		return m, false, err
	}
	dir := filepath.Join(b.dest, b.dir)
	// Noted first: whatever becomes of this run, forget looks here.
	if err := errors.Join(b.archive.NoteBackup(ctx, dir, m.TakenAt), durable.MkdirAll(dir)); err != nil {
		return m, false, err
	}
	dbs, err := b.archive.databaseFiles(ctx)
	if err != nil {
		return m, false, err
	}
	b.total = len(dbs)
	for _, path := range dbs {
		if err := b.copyOne(ctx, path, &m); err != nil {
			return m, false, err
		}
	}
	if !b.WithoutMedia {
		if err := b.media(ctx, m.blobs); err != nil {
			return m, false, err
		}
	}
	m.Files, m.Lost, m.IDs = b.files, b.result.Lost, append(m.IDs, open...) // of those the inbox may hold something
	slices.Sort(m.IDs)
	if err := checkFiles(ctx, b.dest, b.fresh); err != nil {
		return m, false, err
	}
	if err := errors.Join(durable.SyncDir(dir), writeManifest(dir, m)); err != nil {
		return m, false, err
	}
	after, still, err := b.archive.tombstones(ctx)
	return m, len(after) != len(before) || len(still) != len(open), err
}

// copyOne copies a database, the inbox once all of it is in its file.
func (b *backup) copyOne(ctx context.Context, path string, m *Manifest) error {
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
// archive's own last. It fails with ErrDamaged when one is missing.
func (a *Archive) databaseFiles(ctx context.Context) ([]string, error) {
	lost, err := a.lost(ctx)
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("%s is missing or empty: %w", strings.Join(lost, ", "), ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(os.DirFS(a.dir), "*.db")
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var paths []string
	for _, name := range names {
		if path := filepath.Join(a.dir, name); path != a.db.Path {
			paths = append(paths, path)
		}
	}
	return append(paths, a.db.Path), nil
}

// names are those of everything in the directory.
func (d *backupDir) names() (names []string) {
	entries, _ := os.ReadDir(d.path) // an unreadable one fails at the next step
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
