package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/internal/testrun"
)

// TestABackupWithoutRecordingsIsSaid lists and restores a generation without recordings.
func TestABackupWithoutRecordingsIsSaid(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 1), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	for _, without := range []bool{false, true} {
		if _, err := backup.Run(t.Context(), a, dest, backup.Options{WithoutMedia: without}); err != nil {
			t.Fatal(err)
		}
		list := strings.Split(strings.TrimSpace(run(t, "restore", "--list", dest)), "\n")
		if last := list[len(list)-1]; strings.HasSuffix(last, ", without recordings") != without {
			t.Errorf("the list says %q", last)
		}
		out, err := exec.Command("minutebook", "restore", "--data", filepath.Join(t.TempDir(), "back"), dest).CombinedOutput()
		if err != nil || strings.Contains(string(out), "made without recordings") != without {
			t.Errorf("the restore says %s, %v; without recordings: %t", out, err, without)
		}
	}
}
