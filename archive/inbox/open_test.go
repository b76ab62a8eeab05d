package inbox

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// A log's commits are in the inbox's own file, synced by SQLite, before anything
// is answered from it: after a failed sync the log's pages can be clean in memory
// and not on disk, and no later sync of the log would write them.
func TestOpensWithAnEmptyLog(t *testing.T) {
	path, killed := filepath.Join(t.TempDir(), "inbox.db"), filepath.Join(t.TempDir(), "inbox.db")
	i := openInbox(t, path, Options{})
	if _, err := i.Put(t.Context(), delivery("a", "msg_1", "{}")); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal"} { // as after kill -9
		copyFile(t, path+end, killed+end)
	}
	if log, err := os.Stat(killed + "-wal"); err != nil || log.Size() == 0 {
		t.Fatalf("the log that was left: %v, %v", log, err)
	}
	openInbox(t, killed, Options{})
	alone := filepath.Join(t.TempDir(), "inbox.db")
	copyFile(t, killed, alone)
	if got := pendingIDs(t, openInbox(t, alone, Options{})); len(got) != 1 {
		t.Errorf("the inbox's file alone has %v", got)
	}
}

// A log that another program writes is rewritten after that program's transaction: bytes
// that were read before it began the log anew would replace its own.
func TestALogIsRewrittenBetweenTransactions(t *testing.T) {
	i := openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{})
	put(t, i, delivery("a", "msg_1", "{}"))
	other, err := sqlite.OpenPaged(t.Context(), i.Path(), pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	writing, err := other.W.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Rollback()
	var ended atomic.Bool
	rewritten := make(chan error)
	go func() {
		_, err := makeLogDurable(t.Context(), i.DB())
		if err == nil && !ended.Load() {
			err = errors.New("the log was rewritten in another program's transaction")
		}
		rewritten <- err
	}()
	select {
	case err = <-rewritten:
	case <-time.After(time.Second):
		ended.Store(true)
		err = errors.Join(writing.Rollback(), <-rewritten)
	}
	if err != nil {
		t.Error(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = durable.WriteFile(to, content)
	}
	if err != nil {
		t.Fatal(err)
	}
}
