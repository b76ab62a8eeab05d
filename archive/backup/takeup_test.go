package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// stopAt ends a backup after some files.
func stopAt(t *testing.T, a *archive.Archive, dest string, o Options, files int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(done, _ int) {
		if done == files {
			cancel()
		}
	}
	if _, err := Run(ctx, a, dest, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped after %d files: %v", files, err)
	}
}

// TestAnInterruptedBackupIsTakenUp stops backups after some recordings. The next one takes the
// recordings up, unless they have rotted since, and forget names the interrupted one, which
// may have the recording of the forgotten meeting.
func TestAnInterruptedBackupIsTakenUp(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	id, err := age.GenerateX25519Identity()
	must(t, err)
	for name, o := range map[string]Options{"plain": {}, "sealed": {Recipients: []age.Recipient{id.Recipient()}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, dest := archivetest.WithMeetings(t, 4), t.TempDir()
			for id, content := range []string{"moving pictures", "more of them", "and the end", "of another meeting"} {
				archivetest.Attach(t, a, int64(id+1), content)
			}
			stopAt(t, a, dest, o, 2+2)
			stopAt(t, a, dest, o, 2+3) // of which two are there
			copies, err := filepath.Glob(filepath.Join(dest, "media", "*", "*"))
			if err != nil || len(copies) != 3 {
				t.Fatalf("copied %q, %v", copies, err)
			}
			rot(t, copies[0])
			f, err := a.Forget(t.Context(), 4, "asked for")
			if err != nil || !slices.Equal(f.Backups, []string{filepath.Join(dest, "generation-000002")}) {
				t.Errorf("forget names %q, %v", f.Backups, err)
			}
			if r := backUp(t, a, dest, o); r.Copied+r.Kept != 2+3 || r.Kept < 1 || r.Kept > 2 || r.Generation != "generation-000003" {
				t.Errorf("%+v", r)
			}
			if f, err := a.Forget(t.Context(), 4, "asked for"); err != nil || f.Backups != nil {
				t.Errorf("forget still names %q, %v", f.Backups, err)
			}
			if contents(t, restored(t, RestoreOptions{From: dest, Identities: []age.Identity{id}})) != contents(t, a) {
				t.Error("the restored archive differs")
			}
			for file := range archivetest.Tree(t, dest) {
				if folder, _, _ := strings.Cut(file, "/"); !slices.Contains([]string{"generation-000003", "media", "lock", "forgotten.json"}, folder) || strings.HasSuffix(file, "copied.json") {
					t.Errorf("%s is left", file)
				}
			}
			if copies, err := filepath.Glob(filepath.Join(dest, "media", "*", "*")); err != nil || len(copies) != 3 {
				t.Errorf("left %q, %v", copies, err)
			}
		})
	}
}

// TestAKilledBackupIsTakenUp leaves plain recordings as a kill does, which notes nothing.
func TestAKilledBackupIsTakenUp(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
	first, second := archivetest.Attach(t, a, 1, "moving pictures"), archivetest.Attach(t, a, 2, "more of them")
	writeFiles(t, dest, map[string]string{"media/" + first.SHA256[:2] + "/" + first.SHA256: "moving pictures",
		"media/" + second.SHA256[:2] + "/" + second.SHA256: "more of theM", "generation-000007/archive.db.zst": "a part"})
	if r := backUp(t, a, dest, Options{}); r.Kept != 1 || r.Copied != 2+1 || r.Generation != "generation-000008" {
		t.Errorf("%+v", r)
	}
	if names := generationNames(t, dest); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

// TestABackupLeavesAFullDiskAsItWas fills the disk of the backups: nothing could go on there.
func TestABackupLeavesAFullDiskAsItWas(t *testing.T) {
	disk := testrun.SmallDisk(t, 4)
	a := archivetest.WithMeetings(t, 2)
	archivetest.Attach(t, a, 1, strings.Repeat("moving pictures ", 100_000))
	archivetest.Attach(t, a, 2, strings.Repeat("more of them and ", 200_000))
	if _, err := Run(t.Context(), a, disk.Dir, Options{}); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("backed up: %v", err)
	}
	left, err := os.ReadDir(disk.Dir)
	must(t, err)
	for file := range archivetest.Tree(t, disk.Dir) {
		if file != "lock" {
			t.Errorf("%s is left of %d", file, len(left))
		}
	}
}
