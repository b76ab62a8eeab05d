package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/internal/diskspace"
	"minutebook/internal/durable"
)

// Pending is a database that [DB.Migrate] would copy.
type Pending struct {
	Path string
	Size int64 // bytes
}

// FindPending returns which of the databases at the given paths would be copied to be migrated
// to the newest of their schemas. It changes nothing. It fails with [ErrNewer] when one of them
// has a version that its schema does not, and with an error for which [IsDamaged] holds when one is
// damaged beside those to migrate, which would be of the later version for nothing. Other databases
// that are not there, or that cannot be read, are left to those who open them.
func FindPending(ctx context.Context, schemas map[string]fs.FS) (found []Pending, err error) {
	var damaged error
	for _, path := range slices.Sorted(maps.Keys(schemas)) {
		size, err := readPending(ctx, path, schemas[path])
		switch {
		case errors.Is(err, ErrNewer) || ctx.Err() != nil:
			return nil, err
		case IsDamaged(err):
			damaged = errors.Join(damaged, err)
		case err == nil && size > 0:
			found = append(found, Pending{path, size})
		}
	}
	if len(found) > 0 && damaged != nil {
		return nil, damaged
	}
	return found, nil
}

// readPending returns the size of a database that would be copied to be migrated, and 0 for any
// other one.
func readPending(ctx context.Context, path string, files fs.FS) (size int64, err error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return 0, err
	}
	params := "?mode=ro&_busy_timeout=5000"
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		params += "&immutable=1" // else SQLite makes an empty log, which stays
	}
	db := Connect(path, params, nil)
	defer func() { err = errors.Join(err, db.Close()) }()
	todo, latest, err := pending(ctx, db, path, files)
	if err != nil || len(todo) == 0 || latest == 0 {
		return 0, err
	}
	return readSize(ctx, db, path)
}

// readSize returns the size of a database in bytes, its log included.
func readSize(ctx context.Context, db *sql.DB, path string) (size int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&size)
	if err != nil {
		return 0, fmt.Errorf("read the size of %s: %w", path, err)
	}
	return size, nil
}

// MakeRoom fails with [ErrDiskFull] unless the disk has room for the copies of all databases,
// which are in one directory: the first is not migrated where the room ends at the last one. The
// copies from before earlier migrations are deleted where that is enough, and stay where it is
// not.
func MakeRoom(databases []Pending, reports MigrationReports) error {
	dropped, err := makeRoom(databases)
	for _, db := range databases {
		p := MigrationProgress{Path: db.Path, Size: db.Size}
		for _, path := range dropped {
			if strings.HasPrefix(path, db.Path+".") {
				p.Dropped = append(p.Dropped, path)
			}
		}
		if len(p.Dropped) > 0 {
			reports.report(&p, CopiesDropped)
		}
	}
	return err
}

const migrationSpare = 64 << 20 // bytes that stay free beside the copies

// makeRoom is [MakeRoom]; dropped are the paths of the copies that it has deleted.
func makeRoom(databases []Pending) (dropped []string, err error) {
	var copies []string
	need, size := int64(migrationSpare), int64(0)
	for _, db := range databases {
		if err := removeRemains(db.Path + MigratingSuffix); err != nil { // they take the room of the copy
			return nil, err
		}
		need += db.Size
		found, err := findCopies(db.Path)
		if err != nil {
			return nil, err
		}
		copies = append(copies, found...)
	}
	full := checkRoom(databases, need)
	if full == nil {
		return nil, nil
	}
	for _, path := range copies {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	if checkRoom(databases, need-size) != nil {
		return nil, full
	}
	for _, path := range copies {
		if err := durable.Remove(path); err != nil {
			return dropped, fmt.Errorf("delete copy: %w", err)
		}
		dropped = append(dropped, path)
	}
	return dropped, checkRoom(databases, need)
}

// checkRoom fails with [ErrDiskFull] when the disk of databases has less than need bytes free. The
// error does not advise the earlier version, which refuses the databases that were migrated
// before these.
func checkRoom(databases []Pending, need int64) error {
	if len(databases) == 0 {
		return nil
	}
	free, _, err := diskspace.Read(filepath.Dir(databases[0].Path))
	if err != nil {
		return err
	}
	if free >= need {
		return nil
	}
	if len(databases) == 1 {
		return fmt.Errorf("migrate %s: %w: it is copied first, which takes %d MB, and %d MB are free", databases[0].Path, ErrDiskFull, need>>20, free>>20)
	}
	var names []string
	for _, db := range databases {
		names = append(names, filepath.Base(db.Path))
	}
	return fmt.Errorf("migrate %s in %s: %w: they are copied first, which takes %d MB, and %d MB are free",
		strings.Join(names, ", "), filepath.Dir(databases[0].Path), ErrDiskFull, need>>20, free>>20)
}
