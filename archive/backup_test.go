package archive_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
)

// A backup has the spilled bodies in its copy of the inbox.
func TestBackupHasSpilledBodies(t *testing.T) {
	a := archivetest.New(t)
	want, read := archive.SpillBodies(t, a, 6)
	dest, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	if _, err := backup.Run(t.Context(), a, dest, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	if !archive.SpillsMore(a) {
		t.Error("after a backup no body is spilled any more")
	}
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{From: dest, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read(archivetest.Open(t, dir))); diff != "" {
		t.Error(diff)
	}
}
