package control_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/control"
	"minutebook/internal/sqlite"
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
	archivetest.Attach(t, a, 1, "moving pictures")
	if f, err := forget(control.ForgetRequest{RecordingID: 1, Backups: true, Recipients: []string{id.Recipient().String()}}); err != nil || f.Backups != nil || f.Recordings != 1 {
		t.Errorf("with backups and one recording it forgot %+v, %v", f, err)
	}
	archivetest.Attach(t, a, 3, "moving pictures")
	without := t.TempDir()
	for _, run := range []struct {
		dir string
		o   backup.Options
	}{{plaintext, backup.Options{}}, {plaintext, backup.Options{WithoutMedia: true}}, {without, backup.Options{WithoutMedia: true}}} {
		if _, err := backup.Run(t.Context(), a, run.dir, run.o); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := forget(control.ForgetRequest{RecordingID: 4, Backups: true, Recipients: []string{id.Recipient().String()}}); err != nil || f.Backups != nil {
		t.Errorf("forgot %+v, %v", f, err)
	}
	for dir, want := range map[string]int{plaintext: 1, without: 0} {
		recordings, err := filepath.Glob(filepath.Join(dir, "media", "*", "*"))
		if err != nil || len(recordings) != want {
			t.Errorf("%s has the recordings %v, %v; want %d", dir, recordings, err, want)
		}
	}
}

// TestForgettingIsUnfinishedWhileALogIsRead forgets a meeting while another program reads archive.db. The
// new backup is not removed, whose manifest names the meeting since the forgetting is unfinished.
func TestForgettingIsUnfinishedWhileALogIsRead(t *testing.T) {
	a, _, ops := indexed(t)
	to := t.TempDir()
	if _, err := backup.Run(t.Context(), a, to, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	a.DB().LogPatience = 1
	reader := sqlite.Connect(a.DB().Path, "?mode=ro", nil)
	defer reader.Close()
	tx, err := reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM meetings`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	f, err := control.Call[archive.Forgotten](t.Context(), ops, "forget", control.ForgetRequest{RecordingID: 2, Reason: "asked for", Backups: true}, nil)
	if err == nil || !strings.Contains(err.Error(), "still in backups ("+filepath.Join(to, "generation-000002")+")") || !archivetest.Exists(filepath.Join(to, "generation-000002")) {
		t.Errorf("forgot %+v, %v", f, err)
	}
	f, err = control.Call[archive.Forgotten](t.Context(), ops, "forget", control.ForgetRequest{RecordingID: 2, Reason: "asked for"}, nil)
	if err != nil || !slices.Equal(f.Logs, []string{"archive.db"}) {
		t.Errorf("forgot %+v, %v", f, err)
	}
	unfinished := func() (int, []string) {
		n, logs, err := a.Forgetting(t.Context())
		if err != nil {
			t.Error(err)
		}
		return n, logs
	}
	if n, logs := unfinished(); n != 1 || len(logs) != 1 {
		t.Errorf("unfinished %d, %v", n, logs)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if err := a.FinishForgetting(t.Context()); err != nil {
		t.Error(err)
	}
	if n, logs := unfinished(); n != 0 || len(logs) != 0 {
		t.Errorf("unfinished %d, %v", n, logs)
	}
}
