package receiver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"minutebook/archive/inbox"
	"minutebook/internal/diskfault"
	"minutebook/internal/testrun"
)

// A delivery whose sync fails is answered 503, and 200 once the disk is well
// again. After a power cut the disk has whatever was answered 200.
func TestADeliveryThatIsNotSyncedIs503(t *testing.T) {
	testrun.SkipUnderRace(t)
	d := diskfault.New(t)
	daemon, url := startDaemon(t, d.Dir, d.Env())
	defer func() { daemon.Process.Kill(); daemon.Wait() }()
	deliver := func(id string, want int) {
		t.Helper()
		got := send(t, signedRequest(t, url, "anna", secretA, id, time.Now(), []byte(meeting)))
		if got.status != want || want == 503 && got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q; want %d", id, got.status, got.header.Get("Retry-After"), want)
		}
	}
	deliver("msg_1", 200)
	wantOnDisk(t, d, "msg_1")
	d.Fail(t, diskfault.Sync, "inbox.db-wal", 0, 1_000_000)
	deliver("msg_2", 503)
	deliver("msg_3", 503)
	d.Fail(t, diskfault.Write, "inbox.db-wal", 0, 1_000_000)
	deliver("msg_2", 503)
	d.Heal(t)
	deliver("msg_2", 200)
	wantOnDisk(t, d, "msg_1", "msg_2")
	deliver("msg_3", 200)
	wantOnDisk(t, d, "msg_1", "msg_2", "msg_3")
}

// wantOnDisk fails unless a power cut would leave these deliveries.
func wantOnDisk(t *testing.T, d *diskfault.Disk, ids ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"inbox.db", "inbox.db-wal"} {
		content, err := os.ReadFile(filepath.Join(d.Image, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	i, err := inbox.Open(t.Context(), filepath.Join(dir, "inbox.db"), inbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := i.DeliveryOf(t.Context(), "anna", id); err != nil {
			t.Error(fmt.Errorf("after a power cut: %w", err))
		}
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
}
