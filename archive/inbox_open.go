package archive

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	_ "github.com/mattn/go-sqlite3" // registers the driver
	"github.com/pressly/goose/v3"
)

//go:embed migrations/inbox/*.sql
var inboxMigrations embed.FS

const (
	inboxWriterDSN = "_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_foreign_keys=1&_txlock=immediate&_auto_vacuum=none"
	inboxReaderDSN = "mode=ro&_query_only=1&_busy_timeout=5000"
	// A checkpoint is two more syncs in the way of an acknowledgement: it is done
	// every 4096 pages (16 MiB), four times rarer than SQLite's own habit.
	inboxCheckpointPages = 4096
)

// openInboxDBs opens the writer (one connection) and the readers (four).
func openInboxDBs(ctx context.Context, path string, create bool) (w, r *sql.DB, err error) {
	if err := touchInbox(path, create); err != nil {
		return nil, nil, err
	}
	w, err = sql.Open("sqlite3", inboxURI(path, inboxWriterDSN))
	if err != nil {
		return nil, nil, fmt.Errorf("open inbox %s: %w", path, err)
	}
	w.SetMaxOpenConns(1)
	if err := prepareInbox(ctx, w); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open inbox %s: %w", path, err), w.Close())
	}
	r, err = sql.Open("sqlite3", inboxURI(path, inboxReaderDSN))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open inbox %s: %w", path, err), w.Close())
	}
	r.SetMaxOpenConns(4)
	r.SetMaxIdleConns(4)
	return w, r, nil
}

// touchInbox makes the file for its owner alone, before SQLite would make it
// for everybody.
func touchInbox(path string, create bool) error {
	if !create {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("open inbox: %w", err)
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create inbox: %w", err)
	}
	return f.Close()
}

// prepareInbox checks that the settings hold, migrates, and makes durable what
// the log holds: a process killed between writing a commit and syncing it
// leaves one that is visible here but not yet safe, and a repeat of it must not
// be acknowledged before it is.
func prepareInbox(ctx context.Context, w *sql.DB) error {
	if err := checkPragmas(ctx, w, map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"}); err != nil {
		return err
	}
	tree, err := fs.Sub(inboxMigrations, "migrations/inbox")
	if err != nil {
		return err
	}
	if err := migrateInbox(ctx, w, tree); err != nil {
		return err
	}
	var busy, logged, done int
	if err := w.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &done); err != nil {
		return fmt.Errorf("make the log durable: %w", err)
	}
	if busy != 0 {
		return errors.New("make the log durable: another process has the inbox open")
	}
	_, err = w.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint=%d; PRAGMA journal_size_limit=%d",
		inboxCheckpointPages, 64<<20))
	return err
}

// checkPragmas refuses a connection whose settings are not those asked for:
// unknown keys of a DSN are ignored without a word.
func checkPragmas(ctx context.Context, db *sql.DB, want map[string]string) error {
	for name, value := range want {
		var got string
		if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&got); err != nil {
			return fmt.Errorf("read pragma %s: %w", name, err)
		}
		if got != value {
			return fmt.Errorf("pragma %s is %s, not %s: the file system may not support it", name, got, value)
		}
	}
	return nil
}

func migrateInbox(ctx context.Context, w *sql.DB, tree fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, w, tree, goose.WithAllowOutofOrder(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// inboxURI escapes what SQLite would take for a part of a URI.
func inboxURI(path, query string) string {
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + query
}
