package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestARecordingDeletedDuringABackup lets a rule, or a repair, delete a recording after archive.db
// was copied, which has it. The backup is made again without it, can be restored, and
// copies no recording twice.
func TestARecordingDeletedDuringABackup(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*archive.Archive) error{
		"by a rule": func(a *archive.Archive) error {
			rules := []archive.RetentionRule{{MediaAfter: time.Hour, Types: []string{"short-lived"}}}
			if err := a.AcceptRetention(t.Context(), rules); err != nil {
				return err
			}
			_, err := a.DeleteExpired(t.Context(), rules, func(archive.Expired) {})
			return err
		},
		"by a repair": func(a *archive.Archive) error {
			m, err := a.MediaOf(t.Context(), 1)
			if err == nil {
				err = os.Remove(blobPath(a, m[0].SHA256))
			}
			if err == nil {
				_, err = a.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(archive.Damage) {})
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, dest := archivetest.New(t), t.TempDir()
			archivetest.Apply(t, a, archivetest.Epoch,
				[]byte(`{"recording_id":1,"title":"T","meeting_type":"short-lived","recording_start_time":"2026-01-01T00:00:00Z"}`),
				archivetest.Meeting(2, "T", "said"), archivetest.Meeting(3, "T", "said"))
			gone := archivetest.Attach(t, a, 1, "deleted meanwhile")
			others := map[string]bool{archivetest.Attach(t, a, 2, "one that stays").SHA256: true, archivetest.Attach(t, a, 3, "another one").SHA256: true}
			backUp(t, a, dest, Options{WithoutMedia: true})
			removed, written := false, map[string]time.Time{}
			r := backUp(t, a, dest, Options{Keep: 1, Progress: func(int, int) {
				for sha := range others {
					if info, err := os.Stat(filepath.Join(dest, "media", sha[:2], sha)); err == nil {
						if at, known := written[sha]; known && !at.Equal(info.ModTime()) {
							t.Errorf("%s was copied twice", sha)
						}
						written[sha] = info.ModTime()
					}
				}
				if copied, _ := filepath.Glob(filepath.Join(dest, "generation-*", "archive.db.zst")); len(copied) == 2 && !removed {
					removed = true
					if err := remove(a); err != nil {
						t.Error(err)
					}
				}
			}})
			if !removed || len(r.Lost) > 0 || r.Copied != 4 || r.Kept != 0 {
				t.Errorf("removed %t, %+v", removed, r)
			}
			if names := generationNames(t, dest); len(names) != 1 {
				t.Errorf("generations %v", names)
			}
			if archivetest.Exists(filepath.Join(dest, "media", gone.SHA256[:2], gone.SHA256)) {
				t.Error("the deleted recording is in the backup")
			}
			if contents(t, restored(t, RestoreOptions{From: dest})) != contents(t, a) {
				t.Error("the restored archive differs")
			}
		})
	}
}

// TestARecordingThatVanishesFromTheBackupsIsCopiedAnew deletes a recording of an earlier backup, or
// all of that backup, while the next one is made. It is whole then, or it fails.
func TestARecordingThatVanishesFromTheBackupsIsCopiedAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		vanish func(dest, sha string) error // nil: just after the directory was listed
		fails  bool
	}{
		"a recording":               {func(dest, sha string) error { return os.Remove(filepath.Join(dest, "media", sha[:2], sha)) }, false},
		"a part of it":              {func(dest, sha string) error { return os.Truncate(filepath.Join(dest, "media", sha[:2], sha), 3) }, false},
		"all, when it is unmounted": {func(dest, _ string) error { return unmount(dest) }, true},
		"all, at the beginning":     {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dest, armed := filepath.Join(t.TempDir(), "usb"), false
			a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time {
				if armed && c.vanish == nil { // just after the directory was listed
					armed = false
					must(t, unmount(dest))
				}
				return archivetest.Epoch
			})
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
			b := archivetest.Attach(t, a, 1, "moving pictures")
			backUp(t, a, dest, Options{})
			armed = true
			r, err := Run(t.Context(), a, dest, Options{Keep: 1, Progress: func(done, total int) {
				if done == total && armed && c.vanish != nil { // the recording was looked at
					armed = false
					must(t, c.vanish(dest, b.SHA256))
				}
			}})
			if armed || (err != nil) != c.fails || c.fails && len(r.Pruned) > 0 {
				t.Fatalf("armed %t, pruned %v, %v", armed, r.Pruned, err)
			}
			if c.fails {
				must(t, os.RemoveAll(dest))
				must(t, os.Rename(dest+"-away", dest))
			} else if r.Copied != 3 || len(r.Lost) > 0 {
				t.Errorf("%+v", r)
			}
			if contents(t, restored(t, RestoreOptions{From: dest})) != contents(t, a) {
				t.Error("the restored archive differs")
			}
		})
	}
}

// unmount leaves an empty directory in the place of one.
func unmount(dest string) error {
	return errors.Join(os.Rename(dest, dest+"-away"), os.Mkdir(dest, 0o700))
}
