package inbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"minutebook/internal/sqlite"
)

//go:embed migrations
var migrationFiles embed.FS

// Migrations returns the migrations of inbox.db.
func Migrations() fs.FS {
	tree, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the path is a constant and embedded
	}
	return tree
}

// pageSize is the size of a new inbox's pages in bytes. A delivery is mostly
// its body: pages of SQLite's own 4 KiB would cost a dozen writes and checksums
// of the log instead of four.
const pageSize = 16384

// openDB opens the file and brings it to the newest schema.
func openDB(ctx context.Context, path string, create bool, reports sqlite.MigrationReports) (_ *sqlite.DB, err error) {
	if _, err := os.Stat(path); err != nil && !create {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	db, err := sqlite.OpenPaged(ctx, path, pageSize)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if err := db.Migrate(ctx, Migrations(), reports); err != nil {
		return nil, err
	}
	return db, nil
}

// makeLogDurable makes the content of the log durable, which an earlier process may have
// written without syncing it. It empties the log unless another program reads it, and
// reports whether it did. A log that stays is rewritten in a transaction, while no other
// program can append to it, or begin it anew.
func makeLogDurable(ctx context.Context, db *sqlite.DB) (emptied bool, err error) {
	if emptied, err = db.TryTruncateWAL(ctx); emptied || err != nil {
		return emptied, err
	}
	return false, db.WriteTx(ctx, func(*sql.Tx) error {
		f, err := os.OpenFile(db.Path+"-wal", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(rewrite(f), f.Sync(), f.Close())
	})
}

// rewrite writes the bytes of a file over themselves. After a sync that failed, pages of
// it can count as written that are not on the disk, and no later sync would write them.
func rewrite(f *os.File) error {
	block := make([]byte, 1<<20)
	for at := int64(0); ; {
		n, err := f.ReadAt(block, at)
		if n > 0 {
			if _, err := f.WriteAt(block[:n], at); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at += int64(n)
	}
}
