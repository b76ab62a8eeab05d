package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"minutebook/internal/durable"
)

// DB is one SQLite file. Readers never wait for the writer.
type DB struct {
	W    *sql.DB // has the one connection that writes, at which WriteTx, ExecContext and UseWriter take turns
	R    *sql.DB // has four connections that only read
	Path string

	// LogPatience is how long TruncateWAL waits for readers, to be changed before the
	// first call.
	LogPatience time.Duration

	// Migrated has the schema before and after Migrate, zeros where it did nothing
	// or the database is new.
	Migrated struct{ From, To int64 }

	turn chan struct{} // has an element while somebody writes

	// file stays open as long as the connections: closing it ends SQLite's locks.
	file *os.File
}

const readers = 4

// Open opens or creates the SQLite file at path, with mode 0600.
func Open(ctx context.Context, path string) (*DB, error) {
	return OpenPaged(ctx, path, 0)
}

// OpenPaged is Open with the size of a new file's pages in bytes, 0 for SQLite's own. It
// does not change a file that has content.
func OpenPaged(ctx context.Context, path string, pageSize int) (*DB, error) {
	if err := createFile(path, pageSize); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", durable.ExplainAccess(filepath.Dir(path), err))
	}
	db := &DB{
		W:    connector{path, writerParams, writerPragmas}.pool(1),
		R:    connector{path, readerParams, readerPragmas}.pool(readers),
		Path: path, LogPatience: 10 * time.Second, turn: make(chan struct{}, 1), file: file,
	}
	for _, pool := range []*sql.DB{db.W, db.R} {
		if err := pool.PingContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open database %s: %w", path, explainAccess(path, explainLock(path, WrapDiskFull(err)))), db.Close())
		}
	}
	return db, nil
}

// Close closes the readers, then the writer, which checkpoints the log. A second call does
// nothing.
func (db *DB) Close() error {
	err := closePool(db.R)
	err = errors.Join(err, closePool(db.W))
	if closed := db.file.Close(); !errors.Is(closed, os.ErrClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// rollbackPatience is how long Close waits for a transaction that is still rolled back.
const rollbackPatience = 2 * time.Second

// closePool closes a pool, and waits for its connections: where a context ends, database/sql
// rolls its transaction back after the caller went on, and only the connection that is closed
// last checkpoints the log.
func closePool(pool *sql.DB) error {
	err := pool.Close()
	for end := time.Now().Add(rollbackPatience); pool.Stats().OpenConnections > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return err
}

// WriteTx runs fn in one write transaction and commits it. An error of fn rolls it back. It
// fails with [ErrDiskFull] on a full disk, and with [ErrLocked] while another program writes the
// database.
func (db *DB) WriteTx(ctx context.Context, fn func(*sql.Tx) error) error {
	if err := db.awaitTurn(ctx); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer db.endTurn()
	tx, err := db.W.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", explainLock(db.Path, WrapDiskFull(err)))
	}
	defer tx.Rollback() // if fn panics too: the next transaction needs the connection
	if err := fn(tx); err != nil {
		return withCause(ctx, WrapDiskFull(err))
	}
	if err := tx.Commit(); err != nil {
		return withCause(ctx, fmt.Errorf("commit: %w", WrapDiskFull(err)))
	}
	return nil
}

// ExecContext runs a statement that writes, by itself.
func (db *DB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := db.awaitTurn(ctx); err != nil {
		return nil, err
	}
	defer db.endTurn()
	return db.W.ExecContext(ctx, query, args...)
}

// UseWriter runs fn with the connection that writes. fn must write by that connection alone: any
// other way waits for the end of fn.
func (db *DB) UseWriter(ctx context.Context, fn func(*sql.Conn) error) error {
	if err := db.awaitTurn(ctx); err != nil {
		return err
	}
	defer db.endTurn()
	conn, err := db.W.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return fn(conn)
}

// awaitTurn waits until all who came before have written; the turn lasts until endTurn.
// database/sql gives a connection to any of those who wait, however long each has waited.
func (db *DB) awaitTurn(ctx context.Context) error {
	select {
	case db.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (db *DB) endTurn() { <-db.turn }

// ReadTx runs fn in one read transaction: all its reads see the same commit.
func (db *DB) ReadTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.R.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer tx.Rollback()
	return withCause(ctx, fn(tx))
}

// Check calls found with each line that SQLite's own check prints of the database, at most
// 100, and not at all where it is sound. It has a connection of its own: one that checked
// before compares words with the index of them that it remembers (FTS5's xIntegrity, SQLite
// 3.53), and would find damage where somebody wrote since.
func (db *DB) Check(ctx context.Context, found func(line string)) error {
	own := Connect(db.Path, readerParams, readerPragmas)
	err := Each(ctx, own, func(rows *sql.Rows) error {
		var line string
		err := rows.Scan(&line)
		if err == nil && line != "ok" {
			found(line)
		}
		return err
	}, `PRAGMA integrity_check(100)`)
	return errors.Join(err, own.Close())
}

// withCause adds the error of an ended context to the error of a transaction:
// database/sql rolls the transaction back and reports only that it is over.
func withCause(ctx context.Context, err error) error {
	if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// ErrLogRead: another program reads an older state of a database, so that its log cannot
// be emptied.
var ErrLogRead = errors.New("another program is reading it")

// TruncateWAL moves the whole write-ahead log into the database and empties it. It waits
// up to LogPatience for readers of an older state, and then fails with [ErrLogRead].
// Writers get their turn meanwhile.
func (db *DB) TruncateWAL(ctx context.Context) error {
	deadline := time.NewTimer(db.LogPatience)
	defer deadline.Stop()
	for {
		done, err := db.TryTruncateWAL(ctx)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("empty the log of %s: %w; end that program, or try again later", db.Path, ErrLogRead)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TryTruncateWAL is TruncateWAL with one attempt, which holds the writer for a tenth
// of a second at most for the sake of readers. done is false when there still are some.
func (db *DB) TryTruncateWAL(ctx context.Context) (done bool, err error) {
	err = db.UseWriter(ctx, func(conn *sql.Conn) error {
		done, err = truncateLog(ctx, conn)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("empty the log of %s: %w", db.Path, err)
	}
	return done, nil
}

// truncateLog is TryTruncateWAL on the connection that writes.
func truncateLog(ctx context.Context, conn *sql.Conn) (done bool, err error) {
	var patience, busy, logged, moved int
	err = conn.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&patience)
	if err == nil {
		_, err = conn.ExecContext(ctx, `PRAGMA busy_timeout = 100`)
	}
	if err == nil {
		err = conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved)
		_, back := conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(`PRAGMA busy_timeout = %d`, patience))
		err = errors.Join(err, back)
	}
	return err == nil && busy == 0, err
}
