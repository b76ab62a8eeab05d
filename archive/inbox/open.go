package inbox

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"minutebook/internal/sqlite"
)

//go:embed migrations
var migrationFiles embed.FS

// inboxPageSize is the size of a new inbox's pages in bytes. A delivery is mostly
// its body: pages of SQLite's own 4 KiB would cost a dozen writes and checksums
// of the log instead of four.
const pageSize = 16384

// openDB opens the file, brings it to the newest schema and makes the
// content of its log durable: a process killed between writing a commit and syncing it
// leaves one that can be read but is not yet safe, and a repeat of it must not
// be acknowledged before it is.
func openDB(ctx context.Context, path string, create bool) (_ *sqlite.DB, err error) {
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
	tree, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, tree, nil); err != nil {
		return nil, err
	}
	var busy, logged, done int
	if err := db.W.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &done); err != nil {
		return nil, fmt.Errorf("open inbox: make its log durable: %w", err)
	}
	if busy != 0 {
		return nil, errors.New("open inbox: make its log durable: another process has it open")
	}
	return db, nil
}
