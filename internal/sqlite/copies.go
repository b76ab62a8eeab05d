package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minutebook/internal/durable"
)

// MigratingSuffix ends the name of a copy that is being made for a migration.
const MigratingSuffix = ".migrating"

// CopyTo writes a whole, synced copy of the database, with mode 0600, over the
// remains of an interrupted copy. The database may be written to meanwhile.
func (db *DB) CopyTo(ctx context.Context, to string) error {
	if err := removeRemains(to); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", db.Path, err)
	}
	// Connections of db.R refuse VACUUM. The copy takes the setting of secure_delete: without
	// it, its pages keep bytes of rows that are deleted later.
	source := Connect(db.Path, "?mode=ro&_busy_timeout=10000&_secure_delete=on", map[string]string{"secure_delete": "1"})
	_, err = source.ExecContext(ctx, `VACUUM INTO ?`, to)
	err = errors.Join(err, source.Close())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", db.Path, err), os.Remove(to))
	}
	return durable.SyncDir(filepath.Dir(to))
}

// removeRemains deletes an interrupted copy.
func removeRemains(to string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := durable.Remove(to + suffix); err != nil {
			return err
		}
	}
	return nil
}

// DropCopies deletes the copies that migrations made and kept, or left behind in
// a crash, and returns their paths.
func (db *DB) DropCopies() (dropped []string, err error) {
	copies, err := findCopies(db.Path)
	for _, path := range copies {
		if err := durable.Remove(path); err != nil {
			return dropped, fmt.Errorf("delete copy: %w", err)
		}
		dropped = append(dropped, path)
	}
	return dropped, err
}

// findCopies returns the paths that DropCopies deletes.
func findCopies(path string) (paths []string, err error) {
	dir, name := filepath.Split(path)
	for _, pattern := range []string{".before-*", MigratingSuffix + "*"} {
		found, err := fs.Glob(os.DirFS(filepath.Clean(dir)), name+pattern)
		if err != nil {
			return nil, fmt.Errorf("find copies of %s: %w", path, err)
		}
		for _, name := range found {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, nil
}
