package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"minutebook/internal/durable"
)

// Migrate brings a database to the newest schema of files, *.sql with a version
// before the first underscore, in one transaction: a failure or a crash leaves the
// database as it was, for the old version too. A database that already has a schema is
// copied first, to PATH.before-VERSION. The file itself is never replaced: another
// program that has it open, such as Litestream, would go on with the log of the new file
// and write it into the old one. Migrate fails with [ErrNewer], and changes nothing, when
// the database has a version that files do not, and with [ErrDiskFull] when there is no
// room for the copy.
func (db *DB) Migrate(ctx context.Context, files fs.FS, reports MigrationReports) error {
	todo, latest, err := pending(ctx, db.W, db.Path, files)
	if err != nil || len(todo) == 0 {
		return err
	}
	var step atomic.Int64
	if latest == 0 {
		return db.up(ctx, files, todo, &step)
	}
	copied, before := db.Path+MigratingSuffix, fmt.Sprintf("%s.before-%d", db.Path, latest)
	p := &MigrationProgress{Path: db.Path, To: todo[len(todo)-1].version, Steps: len(todo)}
	if err := db.copyReporting(ctx, copied, p, reports); err != nil {
		return WrapDiskFull(err)
	}
	if err := durable.Rename(copied, before); err != nil {
		return err
	}
	reports.report(p, Copied)
	err = reports.during(p, Migrating, func() { p.Step = int(step.Load()) }, func() error {
		if err := db.up(ctx, files, todo, &step); err != nil {
			_, cleared := db.TryTruncateWAL(context.WithoutCancel(ctx)) // gives the room back
			return errors.Join(err, cleared, durable.Remove(before))
		}
		_, err := db.TryTruncateWAL(ctx) // a reader of the old state can keep the log from being emptied
		return err
	})
	if err == nil {
		db.Migrated.From, db.Migrated.To = latest, todo[len(todo)-1].version
		reports.report(p, Migrated)
	}
	return err
}

// CheckVersion fails with [ErrNewer] when the database has a version that files
// do not.
func (db *DB) CheckVersion(ctx context.Context, files fs.FS) error {
	_, _, err := pending(ctx, db.W, db.Path, files)
	return err
}

// migration is one file: 00001_core.sql has version 1.
type migration struct {
	version int64
	name    string
}

// pending returns the migrations to do, in the order of their names; latest is
// the highest version that was done, or 0.
func pending(ctx context.Context, db *sql.DB, path string, files fs.FS) (todo []migration, latest int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, 0, fmt.Errorf("read migrations of %s: %w", path, err)
	}
	applied, err := appliedVersions(ctx, db, path)
	if err != nil {
		return nil, 0, err
	}
	versions := []int64{0}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("read migrations of %s: %w", path, err)
		}
		versions = append(versions, version)
		if !slices.Contains(applied, version) {
			todo = append(todo, migration{version, name})
		}
	}
	for _, v := range applied {
		if !slices.Contains(versions, v) {
			return nil, 0, fmt.Errorf("open %s: it has schema version %d: %w; run the Minutebook that wrote it, or newer", path, v, ErrNewer)
		}
		latest = max(latest, v)
	}
	return todo, latest, nil
}

// The table keeps the name and shape that goose, which did the migrations once,
// has given it.
const createVersions = `CREATE TABLE IF NOT EXISTS goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	)`

// up does the migrations in one transaction. step is the one that is under way, from 1.
func (db *DB) up(ctx context.Context, files fs.FS, todo []migration, step *atomic.Int64) error {
	err := db.WriteTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, createVersions); err != nil {
			return err
		}
		for _, m := range todo {
			step.Add(1)
			text, err := fs.ReadFile(files, m.name)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, string(text)); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)`, m.version); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrate %s: %w", db.Path, err)
	}
	return nil
}

// appliedVersions reads goose's table; a database without one has no version.
func appliedVersions(ctx context.Context, db *sql.DB, path string) ([]int64, error) {
	var tables int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'`).Scan(&tables)
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", path, err)
	}
	if tables == 0 {
		return nil, nil
	}
	applied, err := Column[int64](ctx, db, `SELECT DISTINCT version_id FROM goose_db_version WHERE is_applied`)
	if err != nil {
		return nil, fmt.Errorf("read versions of %s: %w", path, err)
	}
	return applied, nil
}
