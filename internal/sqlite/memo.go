package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/mattn/go-sqlite3"
)

// Watch tells whether a database was changed, by a connection of its own: SQLite
// numbers the commits that one connection sees.
type Watch struct {
	mu   sync.Mutex          // guards conn, which serves one at a time
	conn *sqlite3.SQLiteConn // nil when closed
}

// NewWatch begins to watch an open database. The caller closes the watch before the
// database.
func (db *DB) NewWatch(ctx context.Context) (*Watch, error) {
	conn, err := connector{db.Path, readerParams, readerPragmas}.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch database %s: %w", db.Path, err)
	}
	return &Watch{conn: conn.(*sqlite3.SQLiteConn)}, nil
}

// version returns a number that is another one after each commit.
func (w *Watch) version() (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		return 0, errors.New("read the version of the database: it is closed")
	}
	rows, err := w.conn.Query("PRAGMA data_version", nil)
	if err != nil {
		return 0, fmt.Errorf("read the version of the database: %w", err)
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return 0, fmt.Errorf("read the version of the database: %w", err)
	}
	version, _ := row[0].(int64)
	return version, nil
}

// Close ends the connection. A second Close does nothing.
func (w *Watch) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		return nil
	}
	conn := w.conn
	w.conn = nil
	return conn.Close()
}

// memoSize is how many values a Memo remembers at most.
const memoSize = 16384

// Memo remembers values that were read from a database until the next commit, whichever
// it is: a value is as current as if it were read anew. Values are shared by all who
// ask and are not to be changed.
type Memo[V any] struct {
	watch *Watch

	mu      sync.Mutex // guards version and values
	version int64      // of the database, from which the values are
	values  map[string]V
}

// NewMemo returns an empty Memo for values of the database that is watched.
func NewMemo[V any](watch *Watch) *Memo[V] { return &Memo[V]{watch: watch, values: map[string]V{}} }

// Get returns the value of a key. It calls read, which reads it from the database, where
// no value of the present state is remembered. An error is not remembered.
func (m *Memo[V]) Get(key string, read func() (V, error)) (V, error) {
	version, err := m.watch.version() // before read, whose value may be newer and never older
	if err != nil {
		var none V
		return none, err
	}
	m.mu.Lock()
	value, ok := m.values[key]
	ok = ok && version == m.version
	m.mu.Unlock()
	if ok {
		return value, nil
	}
	if value, err = read(); err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if version > m.version || version == m.version && len(m.values) >= memoSize {
		clear(m.values)
		m.version = version
	}
	if version == m.version {
		m.values[key] = value
	}
	return value, nil
}
