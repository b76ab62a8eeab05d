package control_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/control"
	"minutebook/internal/residue"
)

// TestABackupAfterAFailedProofMendsTheRecordings lets a recording rot in the backups. The next
// backup after the proof that finds it copies the recording anew, and the one after reads
// nothing twice.
func TestABackupAfterAFailedProofMendsTheRecordings(t *testing.T) {
	a, _, _ := indexed(t)
	blob, to := archivetest.Attach(t, a, 1, "moving pictures"), t.TempDir()
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Proof: control.Proof{From: to}, Activities: &control.Activities{}}
	ops := control.Operations(deps)
	prove := func() error {
		_, err := control.Call[backup.Proof](t.Context(), ops, "prove", struct{}{}, nil)
		return err
	}
	backUp := func() (r backup.Result) {
		t.Helper()
		r, err := control.Call[backup.Result](t.Context(), ops, "backup", control.BackupRequest{Destination: to, Keep: 7, Scheduled: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	backUp()
	rotten := filepath.Join(to, "media", blob.SHA256[:2], blob.SHA256)
	if err := os.WriteFile(rotten, []byte("moving Pictures"), 0o600); err != nil {
		t.Fatal(err)
	}
	if prove() == nil {
		t.Error("a rotten recording is proven")
	}
	if r := backUp(); r.Replaced != 1 || prove() != nil {
		t.Errorf("after the failed proof: %+v, %v", r, prove())
	}
	if err := os.WriteFile(rotten, []byte("moving Pictures"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := backUp(); r.Replaced != 0 {
		t.Errorf("after the proof: %+v", r)
	}
}

// TestForgetRemovesAnInterruptedBackup forgets a meeting whose recording an interrupted first
// backup has copied.
func TestForgetRemovesAnInterruptedBackup(t *testing.T) {
	a, _, ops := indexed(t)
	blob, to := archivetest.Attach(t, a, 4, "moving pictures"), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	_, err := backup.Run(ctx, a, to, backup.Options{Progress: func(done, total int) {
		if done == total {
			stop()
		}
	}})
	copied := filepath.Join(to, "media", blob.SHA256[:2], blob.SHA256)
	if !errors.Is(err, context.Canceled) || !archivetest.Exists(copied) {
		t.Fatalf("interrupted: %v; copied %t", err, archivetest.Exists(copied))
	}
	f, err := control.Call[archive.Forgotten](t.Context(), ops, "forget", control.ForgetRequest{RecordingID: 4, Reason: "asked for", Backups: true}, nil)
	if err != nil || len(f.Backups) > 0 || archivetest.Exists(copied) {
		t.Errorf("forgot %+v, %v; the copy is there: %t", f, err, archivetest.Exists(copied))
	}
}

// TestABackupElsewhereEndsNoFailure makes a backup by hand in another place while the daemon's
// fails, and then one in the daemon's place.
func TestABackupElsewhereEndsNoFailure(t *testing.T) {
	a, _, _ := indexed(t)
	to := filepath.Join(t.TempDir(), "usb")
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Proof: control.Proof{From: to}, Activities: &control.Activities{}}
	backUp := func(q control.BackupRequest) (control.UpkeepState, error) {
		t.Helper()
		q.Keep = 7
		_, failure := control.Call[backup.Result](t.Context(), control.Operations(deps), "backup", q, nil)
		u, err := deps.UpkeepState(t.Context(), control.UpkeepBackup)
		if err != nil {
			t.Fatal(err)
		}
		return u, failure
	}
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failed, err := backUp(control.BackupRequest{Destination: to, Scheduled: true})
	if err == nil || failed.Error == "" {
		t.Fatalf("a backup into a file: %+v, %v", failed, err)
	}
	elsewhere := t.TempDir()
	u, err := backUp(control.BackupRequest{Destination: elsewhere})
	if err != nil || u.Error != failed.Error || !u.Began.Equal(failed.Began) || u.Succeeded.IsZero() {
		t.Errorf("after a backup elsewhere: %+v, %v", u, err)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if u, err := backUp(control.BackupRequest{Destination: to}); err != nil || u.Error != "" {
		t.Errorf("after a backup there: %+v, %v", u, err)
	}
	if u, err := backUp(control.BackupRequest{Destination: filepath.Join(elsewhere, "generation-000001", "manifest.json")}); err == nil || u.Error != "" {
		t.Errorf("after a failure elsewhere: %+v, %v", u, err)
	}
}

// TestAMistypedPathIsNoFailureOfTheDaemon names places without backups to commands: the person has
// the error, and the daemon's jobs are as before. A failure where backups are made is one.
func TestAMistypedPathIsNoFailureOfTheDaemon(t *testing.T) {
	a, _, _ := indexed(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Activities: &control.Activities{}}
	state := func(job string) control.UpkeepState {
		t.Helper()
		u, err := deps.UpkeepState(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	backUp := func(to string) error {
		_, err := control.Call[backup.Result](t.Context(), control.Operations(deps), "backup", control.BackupRequest{Destination: to, Keep: 7}, nil)
		return err
	}
	verify := func(q control.VerifyRequest) error {
		_, err := control.Call[archive.Verified](t.Context(), control.Operations(deps), "verify", q, nil)
		return err
	}
	for _, planned := range []string{"", filepath.Join(dir, "planned")} {
		deps.Proof.From = planned
		if err := backUp(file); err == nil || state(control.UpkeepBackup).Error != "" {
			t.Errorf("planned in %q, a backup into a file: %v, %+v", planned, err, state(control.UpkeepBackup))
		}
		for _, q := range []control.VerifyRequest{{Repair: true, From: filepath.Join(dir, "none")}, {Repair: true, From: dir, Identity: filepath.Join(dir, "none")}} {
			if err := verify(q); err == nil || state(control.UpkeepVerify).Error != "" {
				t.Errorf("a repair from %s: %v, %+v", q.From, err, state(control.UpkeepVerify))
			}
		}
	}
	deps.Proof.From = ""
	made := filepath.Join(dir, "made")
	if err := backUp(made); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, made+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(made, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backUp(made); err == nil || state(control.UpkeepBackup).Error == "" {
		t.Errorf("a backup that fails where one was made: %v, %+v", err, state(control.UpkeepBackup))
	}
}

// TestABackupWithoutARecordingNamesNoMeeting loses the recording of a meeting, which is forgotten
// after the backup. Its title is neither in the encrypted backup, whose manifest anybody reads, nor
// in messages, whose readers may not see the meeting, nor anywhere once it is forgotten.
func TestABackupWithoutARecordingNamesNoMeeting(t *testing.T) {
	a, _, _ := indexed(t)
	archivetest.Apply(t, a, archivetest.Epoch, []byte(`{"recording_id":77,"title":"Xylophonist merger"}`))
	sha := archivetest.Attach(t, a, 77, "lost").SHA256
	id, err := age.GenerateX25519Identity()
	err = errors.Join(err, os.Remove(filepath.Join(a.Dir(), "media", sha[:2], sha)))
	if err != nil {
		t.Fatal(err)
	}
	deps := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Activities: &control.Activities{}, Recipients: []string{id.Recipient().String()}}
	backUp := func() string {
		t.Helper()
		to := t.TempDir()
		if _, err := control.Call[backup.Result](t.Context(), control.Operations(deps), "backup", control.BackupRequest{Destination: to, Keep: 7, Scheduled: true}, nil); err != nil {
			t.Fatal(err)
		}
		return to
	}
	places := []string{backUp()}
	u, err := deps.UpkeepState(t.Context(), control.UpkeepBackup)
	if err != nil || len(u.Warnings) != 1 {
		t.Fatalf("%+v, %v", u, err)
	}
	u.Next = time.Now()
	s := &control.StatusResult{Upkeep: map[string]control.UpkeepState{control.UpkeepBackup: u}}
	if text := fmt.Sprint(s.Conditions(time.Now(), time.Now())); !strings.Contains(text, "1 recording is not in the backup") || strings.Contains(text, "Xylophonist") {
		t.Error(text)
	}
	if _, err := a.Forget(t.Context(), 77, "asked for"); err != nil {
		t.Fatal(err)
	}
	if found := residue.Find(t, "Xylophonist", append(places, a.Dir(), backUp())...); found != nil {
		t.Errorf("its title is in %v", found)
	}
}
