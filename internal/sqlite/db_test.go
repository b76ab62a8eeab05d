package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
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
