package backup

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// othersFiles are files in a directory of backups that no backup has written.
var othersFiles = map[string]string{
	"media/films/a film.mkv": "a film", "media/office/ab/" + strings.Repeat("ab", 32): "a recording of an archive", "media/ab/" + strings.Repeat("cd", 32): "in no folder of its own",
	"media/ab/.tmp-of another program": "a", "snapshot-2026-01-01/etc/fstab": "of another program's backup", ".tmp-photos/a.jpg": "a photo", "generation-2024/a.doc": "of a person",
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
	}
}

// TestABackupRemovesNobodysFiles backs up into a directory that has files of other people: it
// refuses the directory for the first backup, where media is theirs. Those that come later stay
// through backups, failed ones and removals.
func TestABackupRemovesNobodysFiles(t *testing.T) {
	t.Parallel()
	a := archivetest.WithMeetings(t, 2)
	archivetest.Attach(t, a, 1, "moving pictures")
	dest := t.TempDir()
	writeFiles(t, dest, othersFiles)
	stay := func(after string) {
		t.Helper()
		tree := archivetest.Tree(t, dest)
		maps.DeleteFunc(tree, func(name, _ string) bool { return othersFiles[name] == "" })
		if !maps.Equal(tree, othersFiles) {
			t.Errorf("after %s these are left: %v", after, tree)
		}
	}
	if _, err := Run(t.Context(), a, dest, Options{}); err == nil || !strings.Contains(err.Error(), "media/films/a film.mkv") || !strings.Contains(err.Error(), "4 files in all") {
		t.Errorf("the first backup: %v", err)
	}
	stay("a first backup")
	must(t, os.Rename(filepath.Join(dest, "media"), filepath.Join(dest, "theirs")))
	backUp(t, a, dest, Options{})
	writeFiles(t, dest, othersFiles)
	asFirstVersion(t, dest)
	stray := "media/ab/" + strings.Repeat("ab", 32)
	writeFiles(t, dest, map[string]string{stray: "of an interrupted backup", "media/ab/.tmp-1": "a", ".tmp-1": "a"})
	backUp(t, a, dest, Options{Keep: 1})
	stay("a backup")
	for _, name := range []string{stray, "media/ab/.tmp-1", ".tmp-1", "snapshot-1"} {
		if archivetest.Exists(filepath.Join(dest, name)) {
			t.Errorf("%s is left", name)
		}
	}
	must(t, os.Remove(a.Inbox().Path()))
	if _, err := Run(t.Context(), a, dest, Options{}); err == nil {
		t.Error("backed up without the inbox")
	}
	stay("a failed backup")
	all, err := generation.List(t.Context(), dest)
	must(t, err)
	must(t, Remove(t.Context(), a, dest, []string{all[0].Path()}, 1))
	stay("a removal")
}

// TestABackupIntoABucketRemovesNobodysObjects backs up beside the recordings of an archive, which
// are in a folder below media, and beside an upload of them.
func TestABackupIntoABucketRemovesNobodysObjects(t *testing.T) {
	testrun.SkipUnderRace(t)
	server := s3test.Start(t)
	a, dest := archivetest.WithMeetings(t, 1), server.URL("recordings", "")
	live, _ := withStore(t, server.URL("recordings", "media/office"))
	server.LeavePart(t, "media/office/ab/"+strings.Repeat("ab", 32), make([]byte, 5<<20))
	if _, err := Run(t.Context(), a, dest, Options{}); err == nil || !strings.Contains(err.Error(), "media/office/") {
		t.Errorf("the first backup: %v", err)
	}
	hasRecording(t, live)
	place, err := generation.OpenPlace(dest)
	must(t, err)
	must(t, place.SweepWrites(t.Context(), generation.IsOwn))
	if uploads := server.Uploads(t); len(uploads) != 1 {
		t.Errorf("unfinished uploads %q", uploads)
	}
}
