package archive

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// What the end of a context interrupts says so, whenever it came: a daemon that
// is stopped in the middle of a transaction has not failed.
func TestATransactionThatItsContextEndsSaysSo(t *testing.T) {
	i := openTestInbox(t, filepath.Join(t.TempDir(), "inbox.db"), InboxOptions{})
	for name, in := range map[string]func(context.Context, func(*sql.Tx) error) error{"write": i.db.inTx, "read": i.db.inRead} {
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
