package inbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAReaderOfTheLogDelaysNoDelivery has a backup read the inbox while a delivery
// about a forgotten meeting is settled. Others are acknowledged meanwhile, and once the
// backup ends, nothing of the forgotten one remains.
func TestAReaderOfTheLogDelaysNoDelivery(t *testing.T) {
	const word = "Xylophonist"
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := openInbox(t, path, Options{IsForgotten: func(_ context.Context, id int64) (bool, error) { return id == 7, nil }})
	put(t, i, delivery("main", "msg_0", `{}`))
	reader, err := i.db.R.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback()
	var n int
	if err := reader.QueryRow(`SELECT count(*) FROM deliveries`).Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	put(t, i, delivery("main", "msg_1", `{"recording_id":7,"title":"`+strings.Repeat(word, 100)+`"}`))
	pending, err := i.Pending(t.Context(), 9)
	if err != nil || len(pending) != 2 {
		t.Fatal(pending, err)
	}
	if err := i.Settle(t.Context(), Outcome{ID: pending[1].ID, RecordingID: 7}); err != nil {
		t.Fatal(err)
	}
	put(t, i, delivery("main", "msg_2", `{}`))
	if !anyFileContains(t, path, word) {
		t.Fatal("the log is empty: the reader does not pin it")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	for n := 0; anyFileContains(t, path, word); n++ {
		if n == 200 {
			t.Fatal("the log still holds the delivery")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// anyFileContains reports whether a word is in the inbox's file or its log.
func anyFileContains(t *testing.T, path, word string) bool {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(b), word) {
			return true
		}
	}
	return false
}
