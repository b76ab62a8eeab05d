package control_test

import (
	"slices"
	"testing"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// TestForgetReplacesBackups forgets a meeting that generations in two directories
// hold, one of them encrypted, with and without having them replaced.
func TestForgetReplacesBackups(t *testing.T) {
	testrun.SkipUnderRace(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	a, _, ops := indexed(t)
	plaintext, sealed := t.TempDir(), t.TempDir()
	for range 2 {
		for dir, o := range map[string]backup.Options{plaintext: {}, sealed: {Recipients: []age.Recipient{id.Recipient()}}} {
			if _, err := backup.Run(t.Context(), a, dir, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	forget := func(q control.ForgetRequest) (archive.Forgotten, error) {
		q.Reason = "asked for"
		return control.Call[archive.Forgotten](t.Context(), ops, "forget", q, nil)
	}
	if f, err := forget(control.ForgetRequest{RecordingID: 2}); err != nil || len(f.Backups) != 4 {
		t.Errorf("named %v, %v", f.Backups, err)
	}
	if _, err := forget(control.ForgetRequest{RecordingID: 2, Backups: true}); err == nil {
		t.Error("encrypted backups were replaced without a recipient")
	}
	if f, err := forget(control.ForgetRequest{RecordingID: 2, Backups: true, Recipients: []string{id.Recipient().String()}}); err != nil || f.Backups != nil {
		t.Errorf("still in %v, %v", f.Backups, err)
	}
	for dir, number := range map[string]string{plaintext: "generation-000003", sealed: "generation-000003"} {
		all, err := generation.List(t.Context(), dir)
		if err != nil || len(all) != 1 || all[0].Name != number || slices.Contains(all[0].IDs, 2) || all[0].Encrypted != (dir == sealed) {
			t.Errorf("%s: %d generations, %v", dir, len(all), err)
		}
	}
}
