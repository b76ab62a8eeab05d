package archive

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// DB is one SQLite file: W has the one connection that writes, R four that only
// read. A write transaction is a W.BeginTx; readers never wait for it.
type DB struct {
	W, R *sql.DB
	Path string

	writer connector // of W's connection
}

const readers = 4

const (
	writerParams = "?mode=rw&_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_foreign_keys=1&_txlock=immediate&_secure_delete=on&_cache_size=-32000"
	readerParams = "?mode=ro&_query_only=1&_busy_timeout=5000&_cache_size=-8000"
)

// pragmas that every connection must read back: a key that the driver does not
// know is silently ignored, and a file system can refuse WAL.
var (
	writerPragmas = map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "foreign_keys": "1", "secure_delete": "1"}
	readerPragmas = map[string]string{"journal_mode": "wal", "query_only": "1", "busy_timeout": "5000"}
)

// openDB opens or creates the SQLite file at path, 0600.
func openDB(ctx context.Context, path string) (*DB, error) {
	return openDBWith(ctx, path, connector{path, writerParams, writerPragmas})
}

// openDBWith has the one connection that writes made by writer.
func openDBWith(ctx context.Context, path string, writer connector) (*DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	f.Close()
	db := &DB{
		W:    sql.OpenDB(writer),
		R:    sql.OpenDB(connector{path, readerParams, readerPragmas}),
		Path: path, writer: writer,
	}
	db.W.SetMaxOpenConns(1)
	db.W.SetMaxIdleConns(1)
	db.R.SetMaxOpenConns(readers)
	db.R.SetMaxIdleConns(readers)
	for _, pool := range []*sql.DB{db.W, db.R} {
		if err := pool.PingContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
		}
	}
	return db, nil
}

// Close closes the readers, then the writer, which checkpoints the WAL.
func (db *DB) Close() error {
	return errors.Join(db.R.Close(), db.W.Close())
}

// connector opens connections whose pragmas were read back and found right.
type connector struct {
	path, params string
	pragmas      map[string]string
}

// Connect opens one connection; it is refused when a pragma did not take.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	d := sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		for name, want := range c.pragmas {
			if err := checkPragma(conn, name, want); err != nil {
				return err
			}
		}
		return nil
	}}
	return d.Open("file:" + escapePath(c.path) + c.params)
}

// Driver is part of driver.Connector.
func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func checkPragma(conn *sqlite3.SQLiteConn, name, want string) error {
	rows, err := conn.Query("PRAGMA "+name, nil)
	if err != nil {
		return fmt.Errorf("read pragma %s: %w", name, err)
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return fmt.Errorf("read pragma %s: %w", name, err)
	}
	if got := fmt.Sprint(row[0]); got != want {
		return fmt.Errorf("pragma %s is %s and not %s: this file system or SQLite cannot keep the archive's promises", name, got, want)
	}
	return nil
}

// escapePath makes a path safe in an SQLite URI.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// Ended makes the end of ctx known in an error of a transaction: one that ctx
// rolled back says only that it is over.
func Ended(ctx context.Context, err error) error {
	if over := ctx.Err(); err != nil && over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}

// inTx runs fn in one write transaction. What fn returns rolls it back.
func (db *DB) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.W.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", full(err))
	}
	if err := fn(tx); err != nil {
		tx.Rollback()
		return Ended(ctx, full(err))
	}
	if err := tx.Commit(); err != nil {
		return Ended(ctx, fmt.Errorf("commit: %w", full(err)))
	}
	return nil
}

// inRead runs fn in one read transaction, so that all it reads is of one moment.
func (db *DB) inRead(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.R.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer tx.Rollback()
	return Ended(ctx, fn(tx))
}
