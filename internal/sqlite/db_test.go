package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A transaction that the end of its context interrupts fails with the context's
// error, whenever it came: a daemon that is stopped meanwhile has not failed.
func TestTransactionsReportTheEndOfTheirContext(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, in := range map[string]func(context.Context, func(*sql.Tx) error) error{"write": db.WriteTx, "read": db.ReadTx} {
		ctx, cancel := context.WithCancel(t.Context())
		err := in(ctx, func(tx *sql.Tx) error {
			cancel()
			for {
				if _, err := tx.Exec("SELECT 1"); err != nil { // rolled back by now
					return err
				}
				time.Sleep(time.Millisecond)
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIdleConnectionsOpenAgain closes every connection of a database, as a time without
// work does: SQLite then removes the log, and readers make do without it.
func TestIdleConnectionsOpenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.W.Exec(`CREATE TABLE t (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if _, err := db.W.Exec(`INSERT INTO t VALUES (?)`, n); err != nil {
			t.Fatal(err)
		}
		for _, pool := range []*sql.DB{db.R, db.W} {
			pool.SetMaxIdleConns(-1)
		}
		if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a connection still has the log: %v", err)
		}
		var got int
		if err := db.R.QueryRow(`SELECT count(*) FROM t`).Scan(&got); err != nil || got != n+1 {
			t.Errorf("%d rows, %v, want %d", got, err, n+1)
		}
	}
}

// TestCloseWaitsForConnections closes a database while a connection is still in use, as by a
// transaction that database/sql rolls back in the background: the log is gone all the same.
func TestCloseWaitsForConnections(t *testing.T) {
	for _, name := range []string{"reader", "writer"} {
		db, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.W.Exec(`CREATE TABLE t (a)`); err != nil {
			t.Fatal(err)
		}
		conn, err := map[string]*sql.DB{"reader": db.R, "writer": db.W}[name].Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		released := make(chan error)
		go func() {
			time.Sleep(20 * time.Millisecond)
			released <- conn.Close()
		}()
		if err := errors.Join(db.Close(), <-released); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(db.Path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the log is still there: %v", name, err)
		}
	}
}

// TestWritersTakeTurns has twenty writers come while one writes, in three ways: each writes in
// its turn, and one whose context ends meanwhile does not wait any longer.
func TestWritersTakeTurns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), filepath.Join(dir, "x.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), `CREATE TABLE t (n INTEGER)`); err != nil {
			t.Fatal(err)
		}
		const insert = `INSERT INTO t VALUES (?)`
		write := func(ctx context.Context, n int) (err error) {
			switch n % 3 {
			case 0:
				_, err = db.ExecContext(ctx, insert, n)
				return err
			case 1:
				return db.UseWriter(ctx, func(conn *sql.Conn) error {
					_, err := conn.ExecContext(ctx, insert, n)
					return err
				})
			}
			return db.WriteTx(ctx, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, insert, n)
				return err
			})
		}
		var writers sync.WaitGroup
		var want []int
		err = db.WriteTx(t.Context(), func(*sql.Tx) error {
			for n := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				isTired := n%5 == 4
				if !isTired {
					want = append(want, n)
				}
				writers.Go(func() {
					defer cancel()
					if err := write(ctx, n); isTired != errors.Is(err, context.Canceled) {
						t.Errorf("writer %d: %v", n, err)
					}
				})
				synctest.Wait()
				if isTired {
					cancel()
				}
			}
			return nil
		})
		writers.Wait()
		got, failed := Column[int](t.Context(), db.R, `SELECT n FROM t ORDER BY rowid`)
		if err := errors.Join(err, failed); err != nil || !slices.Equal(got, want) {
			t.Errorf("written in the order %v, want %v: %v", got, want, err)
		}
	})
}
