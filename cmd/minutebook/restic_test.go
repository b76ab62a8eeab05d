package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

// TestResticKeepsGenerations has restic keep generations of a directory of backups that
// backup itself no longer keeps, and restores out of them; [TestDocumentsRun] runs the commands
// of docs/backup.md. It needs restic, which make test installs.
func TestResticKeepsGenerations(t *testing.T) {
	testrun.SkipUnderRace(t)
	program := testrun.Program(t, "restic")
	t.Parallel()
	root := t.TempDir()
	data, backups, repository, back := filepath.Join(root, "data"), filepath.Join(root, "backups"), filepath.Join(root, "restic"), filepath.Join(root, "back")
	restic := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--no-cache", "-r", repository}, args...)...)
		cmd.Env = append(os.Environ(), "RESTIC_PASSWORD=only for this test", "GOMAXPROCS=2")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("restic %v: %v\n%s", args, err, out)
		}
	}
	fillArchive(t, data)
	restic("init")
	for range 3 {
		run(t, "backup", "--data", data, "--keep", "1", backups)
		restic("backup", backups)
	}
	restic("forget", "--keep-last", "2", "--keep-daily", "7", "--prune")
	restic("check")
	restic("restore", "latest", "--target", back)
	run(t, "restore", "--data", filepath.Join(root, "again"), filepath.Join(back, backups))
	was, is := runJSON[control.StatusResult](t, "status", "--data", data), runJSON[control.StatusResult](t, "status", "--data", filepath.Join(root, "again"))
	if was.Meetings != is.Meetings || is.Meetings == 0 {
		t.Errorf("restored %d of %d meetings", is.Meetings, was.Meetings)
	}
	run(t, "verify", "--data", filepath.Join(root, "again"))
}
