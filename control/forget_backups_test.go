package control_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/control"
)

// TestForgetMakesNoPlainBackupBesideEncryptedOnes damages the newest manifest, and then the one
// of an encrypted backup before a plain one.
func TestForgetMakesNoPlainBackupBesideEncryptedOnes(t *testing.T) {
	a, _, ops := indexed(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	damaged, mixed := t.TempDir(), t.TempDir()
	sealed := backup.Options{Recipients: []age.Recipient{id.Recipient()}}
	for _, run := range []struct {
		dir string
		o   backup.Options
	}{{damaged, sealed}, {damaged, sealed}, {mixed, sealed}, {mixed, backup.Options{}}} {
		if _, err := backup.Run(t.Context(), a, run.dir, run.o); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(damaged, "generation-000002", "manifest.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Call[archive.Forgotten](t.Context(), ops, "forget", control.ForgetRequest{RecordingID: 2, Reason: "asked for", Backups: true}, nil); err == nil {
		t.Error("it says nothing")
	}
	for _, dir := range []string{damaged, mixed} {
		if archivetest.Exists(filepath.Join(dir, "generation-000003")) {
			t.Errorf("%s has another generation", dir)
		}
	}
}

// TestForgetRemovesOnlyTheBackupsThatHaveTheMeeting forgets a meeting while the disk of the backups is
// away, so that all of them are named, and the disk is back just before they are replaced. It does
// so too where a backup was made without the disk, and the disk stays away.
func TestForgetRemovesOnlyTheBackupsThatHaveTheMeeting(t *testing.T) {
	to := filepath.Join(t.TempDir(), "usb")
	var erased atomic.Bool
	isBack := sync.OnceFunc(func() {
		if err := os.Rename(to+"-away", to); err != nil {
			t.Error(err)
		}
	})
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time {
		if erased.Load() {
			isBack()
		}
		return archivetest.Epoch
	})
	_, ops := withIndex(t, a)
	a.OnForget("a disk", func(_ context.Context, id int64) error { erased.Store(true); return nil })
	backUp := func() {
		t.Helper()
		if _, err := backup.Run(t.Context(), a, to, backup.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for id := range int64(3) {
		put(t, a, id+1)
		backUp()
	}
	forget := func(id int64, named string, left ...string) {
		t.Helper()
		f, err := control.Call[archive.Forgotten](t.Context(), ops, "forget", control.ForgetRequest{RecordingID: id, Reason: "asked for", Backups: true}, nil)
		there, _ := filepath.Glob(filepath.Join(to, "generation-*"))
		for i := range there {
			there[i] = filepath.Base(there[i])
		}
		if !slices.Equal(there, left) || (err == nil) != (named == "") || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(named, "TO", to)) || len(f.Backups) > 0 {
			t.Errorf("forgot %d: there are %q, still in %q, %v; want %q, %q", id, there, f.Backups, err, left, named)
		}
	}
	if err := os.Rename(to, to+"-away"); err != nil {
		t.Fatal(err)
	}
	forget(2, "", "generation-000001", "generation-000004")
	if err := os.Rename(to, to+"-away"); err != nil {
		t.Fatal(err)
	}
	onDisk := "(TO/generation-000001, TO/generation-000004): where their disk is away, mount it"
	forget(1, onDisk)
	backUp()
	forget(1, onDisk, "generation-000005")
	forget(3, onDisk, "generation-000006")
}
