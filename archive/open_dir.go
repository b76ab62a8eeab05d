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

	"github.com/gofrs/flock"

	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// A missing or empty database is a first start where nothing else of an archive
// is there, and damage where something is. Which databases an archive has made is
// noted in info, so that one that goes missing later is missed.

const createdPrefix = "database:" // begins the names in info

// refuseLost fails with ErrDamaged when archive.db is not there, or empty, and
// something else of an archive is. An index is nothing: it can be made again.
func refuseLost(dir string) error {
	path := filepath.Join(dir, "archive.db")
	if hasContent(path) {
		return nil
	}
	for _, pattern := range []string{"*.db", "*.db-wal", "*.db.before-*", "*.db-spill/*", "media/??/*"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return fmt.Errorf("look into %s: %w", dir, err)
		}
		for _, name := range found {
			if other := filepath.Join(dir, name); hasContent(other) {
				return fmt.Errorf("open %s: it is missing or empty, and %s is there: %w", path, other, ErrDamaged)
			}
		}
	}
	return nil
}

// hasContent reports whether there is a file with at least one byte.
func hasContent(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// readCreated returns the names of the databases beside archive.db that were once
// created.
func (a *Archive) readCreated(ctx context.Context) ([]string, error) {
	return CreatedDatabases(ctx, a.db.R)
}

// CreatedDatabases returns the names of the databases that the archive in the database
// archive.db has made beside it.
func CreatedDatabases(ctx context.Context, db *sql.DB) (names []string, err error) {
	names, err = sqlite.Column[string](ctx, db, `SELECT substr(name, length(?1) + 1) FROM info WHERE substr(name, 1, length(?1)) = ?1 ORDER BY 1`, createdPrefix)
	if err != nil {
		return nil, fmt.Errorf("read which databases there are: %w", err)
	}
	return names, nil
}

// findLost returns the paths of the databases that are missing or empty now.
func (a *Archive) findLost(ctx context.Context) (paths []string, err error) {
	names, err := a.readCreated(ctx)
	for _, name := range append(names, filepath.Base(a.db.Path)) {
		if path := filepath.Join(a.dir, name); !hasContent(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// refuseLostDB fails with ErrDamaged when a database that was made is missing or
// empty.
func (a *Archive) refuseLostDB(ctx context.Context, name string) error {
	lost, err := a.findLost(ctx)
	if err == nil && slices.Contains(lost, filepath.Join(a.dir, name)) {
		err = fmt.Errorf("open %s: it is missing or empty: %w", filepath.Join(a.dir, name), ErrDamaged)
	}
	return err
}

// noteCreated records that a database was created.
func (a *Archive) noteCreated(ctx context.Context, name string) error {
	_, err := a.db.ExecContext(ctx, `INSERT INTO info (name, value) VALUES (?, '') ON CONFLICT DO NOTHING`, createdPrefix+name)
	if err != nil {
		return fmt.Errorf("note that %s was made: %w", name, err)
	}
	return nil
}

// prepareDir refuses a directory without an archive unless one is to be made.
func prepareDir(dir, path string, create bool) error {
	if err := refuseUnfinished(dir); err != nil {
		return err
	}
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open archive: %w", err)
	}
	if err := refuseLost(dir); err != nil {
		return err
	}
	if !create {
		return fmt.Errorf("open %s: %w; create one with init or --create, or correct data_dir", dir, ErrNoArchive)
	}
	if err := CheckFree(dir); err != nil {
		return err
	}
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// ErrForeignFiles: the directory holds files of somebody else, so no archive is created
// in it. Some of its names would be those of the archive's own files, which are repaired,
// emptied and removed.
var ErrForeignFiles = errors.New("it holds other files")

// CheckFree fails with [ErrForeignFiles] when an archive cannot be created in a directory
// because of files that are no archive's. It accepts a directory that is not there or has
// an archive, hidden files, logs, and configurations with their keys.
func CheckFree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	var foreign []string
	for _, e := range entries {
		if e.Name() == "archive.db" {
			return nil
		}
		if !mayBeBeside(dir, e) {
			foreign = append(foreign, e.Name())
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	shown := strings.Join(foreign[:min(3, len(foreign))], ", ")
	if more := len(foreign) - 3; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("create an archive in %s: %w (%s); give it a directory of its own, such as %s",
		dir, ErrForeignFiles, shown, filepath.Join(dir, "minutebook"))
}

// mayBeBeside reports whether an entry of a directory hinders no new archive there.
func mayBeBeside(dir string, e fs.DirEntry) bool {
	name := e.Name()
	info, err := os.Stat(filepath.Join(dir, name)) // a link may lead to another disk
	isDir := err == nil && info.IsDir()
	switch {
	case strings.HasPrefix(name, "."), name == "lost+found":
		return true
	case !isDir: // the archive's own are the remains of a first start that was interrupted
		return name == "lock" || strings.HasPrefix(name, "archive.db-") || slices.Contains([]string{".toml", ".key", ".log", ".sock"}, filepath.Ext(name))
	case name == "media": // a disk of its own
		return holdsOnly(filepath.Join(dir, name), "lost+found")
	case name == "index": // which is nothing: it can be made again
		return holdsOnly(filepath.Join(dir, name), "lost+found", indexGenerations)
	}
	_, err = os.Lstat(filepath.Join(dir, name, "lock"))
	return err == nil || holdsOnly(filepath.Join(dir, name)) // another archive, such as the demo's, or nothing
}

// holdsOnly reports whether every entry of a directory matches one of the patterns.
func holdsOnly(dir string, patterns ...string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := filepath.Match(pattern, e.Name())
			return ok && err == nil
		})
	})
}

// DatabaseFiles returns the paths of the databases of the data directory, open here or not, the
// archive's own last. It fails with ErrDamaged when one is missing.
func (a *Archive) DatabaseFiles(ctx context.Context) ([]string, error) {
	lost, err := a.findLost(ctx)
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

// indexGenerations matches the folders of the search index.
const indexGenerations = "v[0-9]*-[0-9]*"

// giveToOwner gives all files of an archive that root has created to the owner of the data
// directory.
func giveToOwner(dir string, recordings media.Store) error {
	return errors.Join(durable.GiveToOwner(dir), media.GiveToOwner(recordings, dir),
		durable.GiveOutside(dir, filepath.Join(dir, "index"), nil, indexGenerations))
}

// DirLock is the ownership of a data directory: an flock on DIR/lock, which
// also holds the owner's process id for the message of the one refused. The
// kernel drops the lock when the process ends, however it ends.
type DirLock struct{ f *flock.Flock }

// LockDir takes the lock without waiting. It fails with ErrInUse when
// another process, or another Open in this one, holds it.
func LockDir(dir string) (*DirLock, error) {
	path := filepath.Join(dir, "lock")
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", durable.ExplainAccess(dir, err))
	}
	if !ok {
		return nil, &inUseError{dir: dir, pid: lockOwner(path)}
	}
	if err := writeOwner(path); err != nil {
		f.Unlock()
		return nil, fmt.Errorf("write process id to %s: %w", path, err)
	}
	return &DirLock{f}, nil
}

// writeOwner writes this process's id over the one before. The file is never empty
// meanwhile, so that whoever is refused finds one.
func writeOwner(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	n, err := fmt.Fprintln(f, os.Getpid())
	if err == nil {
		err = f.Truncate(int64(n))
	}
	return errors.Join(err, f.Close())
}

// lockOwner reads the id that the owner wrote, or 0.
func lockOwner(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		return 0
	}
	return pid
}

// Release gives the directory up.
func (l *DirLock) Release() error {
	if err := l.f.Unlock(); err != nil {
		return fmt.Errorf("unlock data directory: %w", err)
	}
	return nil
}

// CheckSchemas fails with [sqlite.ErrNewer] when a database of a data directory has a schema of
// a later version, and returns those of an earlier one. It changes nothing. schemas are
// those of [Options].
func CheckSchemas(ctx context.Context, dir string, schemas map[string]fs.FS) ([]sqlite.Pending, error) {
	all := map[string]fs.FS{filepath.Join(dir, "archive.db"): archiveMigrations(), filepath.Join(dir, "inbox.db"): inbox.Migrations()}
	for name, files := range schemas {
		all[filepath.Join(dir, name)] = files
	}
	return sqlite.FindPending(ctx, all)
}

// prepareMigrations fails with [sqlite.ErrNewer] or [sqlite.ErrDiskFull], before the first
// database is migrated, when the last one cannot be.
func (a *Archive) prepareMigrations(ctx context.Context, schemas map[string]fs.FS) error {
	pending, err := CheckSchemas(ctx, a.dir, schemas)
	if err != nil {
		return err
	}
	return sqlite.MakeRoom(pending, a.reports)
}

// Migration is a database that was brought to a newer schema.
type Migration struct {
	Database string // its name
	From, To int64  // schemas
}

// Migrations returns the migrations of this archive's databases since Open.
func (a *Archive) Migrations() (done []Migration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, db := range append([]*sqlite.DB{a.db}, a.side...) {
		if m := db.Migrated; m.To != 0 {
			done = append(done, Migration{filepath.Base(db.Path), m.From, m.To})
		}
	}
	return done
}
