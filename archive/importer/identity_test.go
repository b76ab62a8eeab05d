package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/internal/testrun"
)

const grownVTT = talkVTT + "\n00:10.000 --> 00:11.000\nSPEAKER_00: Right.\n"

// watchGrowing has a watcher take a file that goes on being written afterwards.
func watchGrowing(t *testing.T, a *archive.Archive, dir string) *Watcher {
	t.Helper()
	w := NewWatcher(a, Options{}, dir)
	for _, text := range []string{talkVTT, grownVTT} {
		writeFiles(t, dir, map[string]string{"a.vtt": text})
		look(t, w)
		if r := look(t, w); r.Read != 1 || len(allRows(t, a)) != 1 {
			t.Fatalf("not taken as the same: %+v", r)
		}
	}
	return w
}

// afterwards are the ways in which a file comes again that was taken before.
var afterwards = map[string]func(t *testing.T, a *archive.Archive, w *Watcher){
	"touched": func(t *testing.T, a *archive.Archive, w *Watcher) {
		if err := os.Chtimes(filepath.Join(w.dir, "a.vtt"), time.Time{}, time.Unix(5, 0)); err != nil {
			t.Fatal(err)
		}
	},
	"renamed": func(t *testing.T, a *archive.Archive, w *Watcher) {
		if err := os.Rename(filepath.Join(w.dir, "a.vtt"), filepath.Join(w.dir, "b.vtt")); err != nil {
			t.Fatal(err)
		}
	},
	"given a title": func(t *testing.T, a *archive.Archive, w *Watcher) {
		writeFiles(t, w.dir, map[string]string{"a.toml": "title = \"x\"\n"})
	},
	"given a key": func(t *testing.T, a *archive.Archive, w *Watcher) {
		writeFiles(t, w.dir, map[string]string{"a.toml": "key = \"k\"\n"})
	},
	"imported": func(t *testing.T, a *archive.Archive, w *Watcher) {
		importPath(t, a, w.dir)
	},
	"imported with a key": func(t *testing.T, a *archive.Archive, w *Watcher) {
		other := t.TempDir()
		writeFiles(t, other, map[string]string{"c.vtt": grownVTT, "c.toml": "key = \"k\"\n"})
		importPath(t, a, other)
	},
	"restarted": func(t *testing.T, a *archive.Archive, w *Watcher) {
		look(t, NewWatcher(a, Options{}, w.dir))
	},
}

// TestWhatTheBackupHadForgottenIsNotForgottenAnew restores a backup that was made after a meeting
// with several ids was forgotten: nothing of it is left to erase.
func TestWhatTheBackupHadForgottenIsNotForgottenAnew(t *testing.T) {
	a, dir, dest := ticking(t), t.TempDir(), filepath.Join(t.TempDir(), "backups")
	watchGrowing(t, a, dir)
	_, err := a.Forget(t.Context(), allRows(t, a)[0].RecordingID, "test")
	if err == nil {
		_, err = backup.Run(t.Context(), a, dest, backup.Options{})
	}
	o := backup.RestoreOptions{From: dest, Dir: filepath.Join(t.TempDir(), "back"), Logger: zerolog.Nop()}
	if err == nil {
		_, err = backup.Restore(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, open, err := archivetest.Open(t, o.Dir).Tombstones(t.Context())
	if err != nil || len(all) != 1 || len(open) != 0 {
		t.Errorf("the restored archive has forgotten %d, and is to erase %d: %v", all, open, err)
	}
}

// TestAForgottenMeetingThatGrewStaysForgotten has a file that was taken while it was
// written: the archive knows it by its first words. Also of an earlier version.
func TestAForgottenMeetingThatGrewStaysForgotten(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, earlier := range []bool{false, true} {
		for name, comes := range afterwards {
			t.Run(fmt.Sprint(name, earlier), func(t *testing.T) {
				a, dir := ticking(t), t.TempDir()
				w := watchGrowing(t, a, dir)
				if earlier {
					takeMarks(t, a)
					w = NewWatcher(a, Options{}, dir)
				}
				look(t, w)
				look(t, w)
				if _, err := a.Forget(t.Context(), allRows(t, a)[0].RecordingID, "test"); err != nil {
					t.Fatal(err)
				}
				comes(t, a, w)
				look(t, w)
				look(t, w)
				if rows := allRows(t, a); len(rows) != 0 {
					t.Errorf("it came back as %q", rows[0].Title)
				}
			})
		}
	}
}

// takeMarks leaves the marks of watched files as earlier versions wrote them.
func takeMarks(t *testing.T, a *archive.Archive) {
	t.Helper()
	same, err := a.Marks(t.Context(), "import/same/")
	if err != nil {
		t.Fatal(err)
	}
	var marks []archive.Mark
	for key := range same {
		marks = append(marks, archive.Mark{Key: key})
	}
	for key, value := range marksOf(t, a) {
		head, _, _ := strings.Cut(string(value), `,"words"`)
		marks = append(marks, archive.Mark{Key: key, Value: []byte(strings.TrimSuffix(head, "}") + "}")})
	}
	if err := a.SetMarks(t.Context(), marks...); err != nil {
		t.Fatal(err)
	}
}

// TestAMeetingThatGrewIsThereOnce has the same files without forgetting.
func TestAMeetingThatGrewIsThereOnce(t *testing.T) {
	for name, comes := range afterwards {
		t.Run(name, func(t *testing.T) {
			a, dir := ticking(t), t.TempDir()
			w := watchGrowing(t, a, dir)
			comes(t, a, w)
			look(t, w)
			look(t, w)
			if rows := allRows(t, a); len(rows) != 1 {
				t.Errorf("%d meetings", len(rows))
			}
		})
	}
}

// TestAKeyMayComeAndGo gives a key to a meeting that was imported without one, and takes it
// away: it is the same meeting, and stays forgotten. With another key it is another one.
func TestAKeyMayComeAndGo(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	imports := func(step, toml, vtt string, want int) {
		t.Helper()
		writeFiles(t, dir, map[string]string{"a.vtt": vtt, "a.toml": toml})
		importPath(t, a, dir)
		if rows := allRows(t, a); len(rows) != want {
			t.Errorf("%s: %d meetings, want %d", step, len(rows), want)
		}
	}
	imports("without a key", "", talkVTT, 1)
	imports("with a key", `key = "k"`, talkVTT, 1)
	imports("corrected", `key = "k"`, grownVTT, 1)
	imports("without the key", "", grownVTT, 1)
	imports("the first words", "", talkVTT, 1)
	imports("another key", `key = "l"`, grownVTT, 2)
	imports("corrected", `key = "l"`, talkVTT, 2)
	imports("the key again", `key = "k"`, talkVTT, 2)
	for _, row := range allRows(t, a) {
		if _, err := a.Forget(t.Context(), row.RecordingID, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for _, toml := range []string{"", `key = "k"`, `key = "l"`, `key = "m"`} {
		imports("forgotten, "+toml, toml, talkVTT, 0)
		imports("forgotten, "+toml, toml, grownVTT, 0)
	}
	imports("other words", `key = "m"`, strings.ReplaceAll(grownVTT, "pelican", "heron"), 1)
}

// TestAForgottenMeetingThatGrewStaysForgottenAfterARestore restores a backup of before a meeting,
// which has two ids by its words, was imported and forgotten. The directory of backups or the
// former data directory knows of it. Neither the watched folder nor an import brings it back.
func TestAForgottenMeetingThatGrewStaysForgottenAfterARestore(t *testing.T) {
	for name, byData := range map[string]bool{"known in the backups": false, "known in the former data": true} {
		t.Run(name, func(t *testing.T) {
			a, dir, dest := ticking(t), t.TempDir(), filepath.Join(t.TempDir(), "backups")
			if _, err := backup.Run(t.Context(), a, dest, backup.Options{}); err != nil {
				t.Fatal(err)
			}
			watchGrowing(t, a, dir)
			_, err := a.Forget(t.Context(), allRows(t, a)[0].RecordingID, "test")
			o := backup.RestoreOptions{From: dest, Dir: filepath.Join(t.TempDir(), "back"), Logger: zerolog.Nop()}
			if byData {
				o.OldData = []string{a.Dir()}
				err = errors.Join(err, os.Remove(filepath.Join(dest, "forgotten.json")))
			}
			if err := errors.Join(err, a.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := backup.Restore(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			b := archivetest.Open(t, o.Dir)
			w := NewWatcher(b, Options{}, dir)
			look(t, w)
			look(t, w)
			importPath(t, b, dir)
			if rows := allRows(t, b); len(rows) != 0 {
				t.Errorf("the forgotten meeting came back as %d %q", rows[0].RecordingID, rows[0].Title)
			}
		})
	}
}
