package archive

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

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

// migrate brings a database to the newest schema. A database that already has
// a schema is copied beside itself first, as PATH.before-VERSION. It fails with
// ErrNewer, touching nothing, when the database has a version unknown here. A
// crash in the middle leaves every migration whole or undone.
func (db *DB) migrate(ctx context.Context, files fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, db.W, files,
		goose.WithAllowOutofOrder(true), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations of %s: %w", db.Path, err)
	}
	known := map[int64]bool{0: true}
	for _, s := range p.ListSources() {
		known[s.Version] = true
	}
	applied, err := db.appliedVersions(ctx)
	if err != nil {
		return err
	}
	latest := int64(0)
	for v := range applied {
		if !known[v] {
			return fmt.Errorf("open %s: it has schema version %d: %w; run the Minutebook that wrote it, or newer", db.Path, v, ErrNewer)
		}
		latest = max(latest, v)
		delete(known, v)
	}
	delete(known, 0)
	if len(known) == 0 {
		return nil
	}
	if latest > 0 {
		if err := db.copyBefore(ctx, latest); err != nil {
			return err
		}
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", db.Path, err)
	}
	return nil
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

// copyBefore keeps a whole, synced copy of the database as it is.
func (db *DB) copyBefore(ctx context.Context, version int64) error {
	to := fmt.Sprintf("%s.before-%d", db.Path, version)
	part := to + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove unfinished copy: %w", err)
	}
	if _, err := db.W.ExecContext(ctx, `VACUUM INTO ?`, part); err != nil {
		return fmt.Errorf("copy %s before migrating: %w", db.Path, err)
	}
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sync copy: %w", err)
	}
	err = errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("sync copy: %w", err)
	}
	return durable.Rename(part, to)
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
