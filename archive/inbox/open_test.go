package inbox

import (
	"os"
	"path/filepath"
	"testing"

	"minutebook/internal/durable"
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
