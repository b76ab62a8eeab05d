package receiver

import (
	"os"
	"path/filepath"
	"testing"

	"minutebook/archive"
)

// A delivery whose log cannot be synced is not acknowledged, nor is any after it.
func TestWithoutItsLogNothingIsAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	r := startOn(t, path, archive.InboxOptions{}, Options{})
	if got := r.deliver(t, "msg_1", meeting); got != 200 {
		t.Fatalf("with its log: %d", got)
	}
	log, aside := path+"-wal", path+"-aside"
	if err := os.Rename(log, aside); err != nil { // SQLite goes on writing to it
		t.Fatal(err)
	}
	if got := r.deliver(t, "msg_2", meeting); got != 503 {
		t.Errorf("without its log: %d, want 503", got)
	}
	if err := os.Rename(aside, log); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"msg_2", "msg_3"} {
		if got := r.deliver(t, id, meeting); got != 503 {
			t.Errorf("%s after a sync has failed: %d, want 503", id, got)
		}
	}
}
