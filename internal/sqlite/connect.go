package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

// Connections keep their last statements prepared: to prepare one takes as long as to
// run it. A page of meetings is applied with about eighty of them.
const (
	writerParams = "?mode=rw&_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_foreign_keys=1&_txlock=immediate&_secure_delete=on&_cache_size=-32000&_stmt_cache_size=128"
	readerParams = "?mode=ro&_query_only=1&_busy_timeout=5000&_cache_size=-8000&_stmt_cache_size=32"
)

// Every connection reads these pragmas back: the driver ignores a parameter that
// it does not know, and a file system can refuse WAL.
var (
	writerPragmas = map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "foreign_keys": "1", "secure_delete": "1"}
	readerPragmas = map[string]string{"journal_mode": "wal", "query_only": "1", "busy_timeout": "5000"}
)

// Connect returns a pool of connections to the existing file at path with params
// of the driver ("?mode=ro&…"), for a file that is not kept open as a [DB]. A
// connection fails when one of pragmas reads back another value.
func Connect(path, params string, pragmas map[string]string) *sql.DB {
	return sql.OpenDB(connector{path, params, pragmas})
}

// connector opens connections and checks their pragmas.
type connector struct {
	path, params string
	pragmas      map[string]string
}

// idleTime is how long a connection stays open without work: each keeps up to 32 MB of
// pages, which a program at rest does not need.
const idleTime = 30 * time.Second

// pool keeps up to size connections open while they have work.
func (c connector) pool(size int) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxIdleTime(idleTime)
	return db
}

// Connect opens one connection; it fails when a pragma did not take.
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

// createFile creates the file at path, with mode 0600, unless there is one. An
// empty file gets pages of pageSize bytes where that is not 0; a crash leaves it
// empty or whole, and either serves.
func createFile(path string, pageSize int) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() > 0 || pageSize == 0 {
		return err
	}
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file:" + escapePath(path) + "?mode=rw&_synchronous=FULL")
	if err != nil {
		return fmt.Errorf("create database %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Setting the journal mode writes the first page, which fixes the page size.
	if _, err := conn.(*sqlite3.SQLiteConn).Exec(fmt.Sprintf("PRAGMA page_size=%d; PRAGMA journal_mode=WAL", pageSize), nil); err != nil {
		return fmt.Errorf("create database %s: %w", path, err)
	}
	return nil
}
