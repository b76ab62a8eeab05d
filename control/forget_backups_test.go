package control_test

import (
	"os"
	"path/filepath"
	"testing"

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
