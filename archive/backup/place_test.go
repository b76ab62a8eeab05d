package backup

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"minutebook/archive/archivetest"
)

// TestRootsBackupBelongsToTheOwner has root back up into a directory of the daemon's user.
func TestRootsBackupBelongsToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	a, dest := archivetest.WithMeetings(t, 1), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	writeFiles(t, dest, map[string]string{"theirs/of root": "a"})
	if err := os.Chown(dest, 65532, 65532); err != nil {
		t.Skip("directories cannot be given away here: ", err)
	}
	backUp(t, a, dest, Options{})
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	must(t, filepath.WalkDir(dest, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		if uid, isTheirs := info.Sys().(*syscall.Stat_t).Uid, strings.Contains(path, "theirs"); (uid == 0) != isTheirs {
			t.Errorf("%s belongs to %d", path, uid)
		}
		return nil
	}))
}

// TestABackupThatCannotBeReadIsNotGivenUp: a doubt about rights does not advise to delete.
func TestABackupThatCannotBeReadIsNotGivenUp(t *testing.T) {
	b := &run{archive: archivetest.WithMeetings(t, 1), dir: &directory{}}
	dest := t.TempDir()
	backUp(t, b.archive, dest, Options{})
	d, err := openDirectory(t.Context(), b.archive, dest)
	must(t, err)
	defer func() { must(t, d.unlock()) }()
	b.dir = d
	d.all[0].Damage = &fs.PathError{Op: "open", Path: "manifest.json", Err: syscall.EACCES}
	doubts, err := b.findDoubts(t.Context(), d.all[0].Manifest)
	if err != nil || len(doubts) != 1 || strings.Contains(doubts[0], "delete") || !strings.Contains(doubts[0], "let the user") {
		t.Errorf("%q, %v", doubts, err)
	}
}
