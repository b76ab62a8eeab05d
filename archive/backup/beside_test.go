package backup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"filippo.io/age"

	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/internal/durable"
)

// TestEncryptedBackupsBesideEachOther makes encrypted backups into two directories at the same
// time, again and again: each has its own copies in the data directory.
func TestEncryptedBackupsBesideEachOther(t *testing.T) {
	t.Parallel()
	a := archivetest.WithMeetings(t, 3)
	for n := range 30 {
		d := inbox.Delivery{Account: "main", WebhookID: strconv.Itoa(n), ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch,
			Body: fmt.Appendf(nil, `{"recording_id": 1, "title": %q}`, bytes.Repeat([]byte("said "), 20_000))}
		if _, err := a.Inbox().Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for range 2 {
		dest := t.TempDir()
		both.Go(func() {
			for range 4 {
				if _, err := Run(t.Context(), a, dest, Options{Recipients: []age.Recipient{id.Recipient()}, Keep: 1}); err != nil {
					t.Error(err)
					return
				}
				if _, err := Restore(t.Context(), RestoreOptions{From: dest, Dir: filepath.Join(t.TempDir(), "back"), Identities: []age.Identity{id}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if left, _ := filepath.Glob(filepath.Join(a.Dir(), durable.TempPrefix+"*")); left != nil {
		t.Errorf("left in the data directory: %v", left)
	}
}
