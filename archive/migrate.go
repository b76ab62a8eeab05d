package archive

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"minutebook/internal/durable"
)

//go:embed migrations
var migrationFiles embed.FS

// archiveMigrations are those of archive.db, all rooms' together.
func archiveMigrations() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations/archive")
	if err != nil {
		panic(err) // the path is a constant and embedded
	}
	return sub
}

// migratingSuffix ends the name of a copy that is being migrated.
const migratingSuffix = ".migrating"

// migrate brings a database to the newest schema. One that already has a schema
// is migrated as a copy, which then takes its place in one step: whatever
// happens in between, the database is as it was, for the old version too. As it
// was it also stays, as PATH.before-VERSION. It fails with ErrNewer, touching
// nothing, when the database has a version unknown here.
func (db *DB) migrate(ctx context.Context, files fs.FS) error {
	pending, latest, err := db.pending(ctx, files)
	if err != nil || pending == 0 {
		return err
	}
	if latest == 0 {
		return up(ctx, db.W, db.Path, files)
	}
	copied := db.Path + migratingSuffix
	if err := db.copyTo(ctx, copied); err != nil {
		return err
	}
	if err := migrateFile(ctx, copied, files); err != nil {
		return errors.Join(err, durable.Remove(copied))
	}
	if err := db.truncateWAL(ctx); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close %s to migrate it: %w", db.Path, err)
	}
	if err := swap(copied, db.Path, fmt.Sprintf("%s.before-%d", db.Path, latest)); err != nil {
		return err
	}
	again, err := openDBWith(ctx, db.Path, db.writer)
	if err != nil {
		return err
	}
	db.W, db.R = again.W, again.R
	return nil
}

// pending counts the migrations to do; latest is the highest done, 0 for none.
func (db *DB) pending(ctx context.Context, files fs.FS) (pending int, latest int64, err error) {
	p, err := provider(db.W, files)
	if err != nil {
		return 0, 0, fmt.Errorf("read migrations of %s: %w", db.Path, err)
	}
	known := map[int64]bool{0: true}
	for _, s := range p.ListSources() {
		known[s.Version] = true
	}
	applied, err := db.appliedVersions(ctx)
	if err != nil {
		return 0, 0, err
	}
	for v := range applied {
		if !known[v] {
			return 0, 0, fmt.Errorf("open %s: it has schema version %d: %w; run the Minutebook that wrote it, or newer", db.Path, v, ErrNewer)
		}
		latest = max(latest, v)
		delete(known, v)
	}
	delete(known, 0)
	return len(known), latest, nil
}

func provider(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithAllowOutofOrder(true), goose.WithDisableGlobalRegistry(true))
}

func up(ctx context.Context, db *sql.DB, path string, files fs.FS) error {
	p, err := provider(db, files)
	if err == nil {
		_, err = p.Up(ctx)
	}
	if err != nil {
		return fmt.Errorf("migrate %s: %w", path, err)
	}
	return nil
}

// migrateFile migrates a database that nothing else has open, to its last page
// on disk.
func migrateFile(ctx context.Context, path string, files fs.FS) error {
	db, err := openDB(ctx, path)
	if err != nil {
		return err
	}
	err = up(ctx, db.W, path, files)
	if err == nil {
		err = db.truncateWAL(ctx)
	}
	return errors.Join(err, db.Close())
}

// swap puts next in the place of path, which stays as before. At any moment
// there is a whole database at path.
func swap(next, path, before string) error {
	if err := durable.Remove(before); err != nil {
		return err
	}
	if err := os.Link(path, before); err != nil { // a file system without links: copy
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("keep %s from before its migration: %w", path, err)
		}
		defer f.Close()
		if err := durable.Write(before, func(w io.Writer) error { _, err := io.Copy(w, f); return err }); err != nil {
			return fmt.Errorf("keep %s from before its migration: %w", path, err)
		}
	}
	return durable.Rename(next, path)
}

// appliedVersions reads goose's table; a database without one has none.
func (db *DB) appliedVersions(ctx context.Context) (map[int64]bool, error) {
	var table int
	err := db.W.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'`).Scan(&table)
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", db.Path, err)
	}
	applied := map[int64]bool{}
	if table == 0 {
		return applied, nil
	}
	rows, err := db.W.QueryContext(ctx, `SELECT version_id FROM goose_db_version WHERE is_applied`)
	if err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", db.Path, err)
	}
	return applied, eachRow(rows, func(rows *sql.Rows) error {
		var v int64
		if err := rows.Scan(&v); err != nil {
			return err
		}
		applied[v] = true
		return nil
	})
}

// copyTo writes a whole, synced copy of the database as it is, 0600, over what
// an interrupted one left. A daemon may go on writing meanwhile.
func (db *DB) copyTo(ctx context.Context, to string) error {
	for _, left := range []string{to, to + "-wal", to + "-shm", to + "-journal"} {
		if err := durable.Remove(left); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", db.Path, err)
	}
	one := sql.OpenDB(connector{path: db.Path, params: "?mode=ro&_busy_timeout=10000"}) // readers of the pool cannot
	_, err = one.ExecContext(ctx, `VACUUM INTO ?`, to)
	err = errors.Join(err, one.Close())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", db.Path, err), os.Remove(to))
	}
	return durable.SyncDir(filepath.Dir(to))
}

// eachRow calls fn for every row, closes rows and returns the first failure.
func eachRow(rows *sql.Rows, fn func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
