package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"minutebook/internal/durable"
)

// Migrate brings a database to the newest schema of files, goose's *.sql. A
// database that already has a schema is migrated as a copy, which then takes its
// place in one step; a failure or a crash leaves the database as it was, for the
// old version too. The old database is kept as PATH.before-VERSION. Migrate fails
// with [ErrNewer], and changes nothing, when the database has a version that
// files do not.
func (db *DB) Migrate(ctx context.Context, files fs.FS) error {
	pending, latest, err := db.pending(ctx, files)
	if err != nil || pending == 0 {
		return err
	}
	if latest == 0 {
		return up(ctx, db.W, db.Path, files)
	}
	copied := db.Path + MigratingSuffix
	if err := db.CopyTo(ctx, copied); err != nil {
		return err
	}
	if err := migrateFile(ctx, copied, files); err != nil {
		return errors.Join(err, durable.Remove(copied))
	}
	if err := db.TruncateWAL(ctx); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close %s to migrate it: %w", db.Path, err)
	}
	if err := replace(db.Path, copied, fmt.Sprintf("%s.before-%d", db.Path, latest)); err != nil {
		return err
	}
	again, err := open(ctx, db.Path, db.writer)
	if err != nil {
		return err
	}
	db.W, db.R = again.W, again.R
	return nil
}

// CheckVersion fails with [ErrNewer] when the database has a version that files
// do not.
func (db *DB) CheckVersion(ctx context.Context, files fs.FS) error {
	_, _, err := db.pending(ctx, files)
	return err
}

// pending counts the migrations to do; latest is the highest version done, or 0.
func (db *DB) pending(ctx context.Context, files fs.FS) (pending int, latest int64, err error) {
	p, err := provider(db.W, files)
	if err != nil {
		return 0, 0, fmt.Errorf("read migrations of %s: %w", db.Path, err)
	}
	todo := map[int64]bool{0: true}
	for _, s := range p.ListSources() {
		todo[s.Version] = true
	}
	applied, err := db.appliedVersions(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, v := range applied {
		if !todo[v] {
			return 0, 0, fmt.Errorf("open %s: it has schema version %d: %w; run the Minutebook that wrote it, or newer", db.Path, v, ErrNewer)
		}
		latest = max(latest, v)
		delete(todo, v)
	}
	delete(todo, 0)
	return len(todo), latest, nil
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

// migrateFile migrates a database that nothing else has open, and leaves all of
// it in the file.
func migrateFile(ctx context.Context, path string, files fs.FS) error {
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	err = up(ctx, db.W, path, files)
	if err == nil {
		err = db.TruncateWAL(ctx)
	}
	return errors.Join(err, db.Close())
}

// appliedVersions reads goose's table; a database without one has no version.
func (db *DB) appliedVersions(ctx context.Context) ([]int64, error) {
	var tables int
	err := db.W.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'`).Scan(&tables)
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", db.Path, err)
	}
	if tables == 0 {
		return nil, nil
	}
	applied, err := Column[int64](ctx, db.W, `SELECT DISTINCT version_id FROM goose_db_version WHERE is_applied`)
	if err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", db.Path, err)
	}
	return applied, nil
}
