package backup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/durable"
	"minutebook/internal/testrun"
)

func generationNames(t *testing.T, dest string) (names []string) {
	t.Helper()
	all, err := generation.List(t.Context(), dest)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		names = append(names, g.Name)
		if err := g.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
	return names
}

// asFirstVersion turns the newest generation into a backup as the first version
// made it, alone in its directory.
func asFirstVersion(t *testing.T, dest string) {
	t.Helper()
	g, err := generation.Find(t.Context(), dest, "")
	if err != nil {
		t.Fatal(err)
	}
	m := g.Manifest
	m.Version, m.Lineage, m.IDs, m.Files = generation.FirstVersion, nil, nil, nil
	b := &run{dir: &directory{place: g.Place}}
	if err := os.MkdirAll(filepath.Join(dest, "snapshot-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range g.Files {
		name, db, _ := strings.Cut(filepath.Base(f.Path), ".db")
		if db == "" {
			m.Files = append(m.Files, f)
			continue
		}
		r, err := g.Open(t.Context(), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := b.writeFile(t.Context(), "snapshot-1/"+name+".db", r); err != nil {
			t.Fatal(err)
		}
	}
	m.Files = append(m.Files, b.files...)
	raw, _ := json.Marshal(m)
	var old map[string]any
	json.Unmarshal(raw, &old)
	for _, key := range []string{"lineage", "recording_ids"} {
		delete(old, key)
	}
	if err := generation.WriteManifest(t.Context(), g.Place, "", m); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(g.Path())
}

func TestBackupKeepsGenerations(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 1), t.TempDir()
	var states []string
	for id := int64(2); id < 6; id++ {
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id, "T", "said"))
		archivetest.Attach(t, a, id, strings.Repeat("moving pictures ", int(id)))
		states = append(states, contents(t, a))
		if r := backUp(t, a, dest, Options{Keep: 3}); r.Kept != int(id)-2 {
			t.Errorf("%d recordings shared with earlier generations; want %d", r.Kept, id-2)
		}
	}
	want := []string{"generation-000002", "generation-000003", "generation-000004"}
	if got := generationNames(t, dest); !slices.Equal(got, want) {
		t.Errorf("generations %v; want %v", got, want)
	}
	for name, state := range map[string]string{"": states[3], "4": states[3], "generation-000002": states[1]} {
		if contents(t, restored(t, RestoreOptions{From: dest, Generation: name})) != state {
			t.Errorf("generation %q: the restored archive differs", name)
		}
	}
	if _, err := Restore(t.Context(), RestoreOptions{From: dest, Generation: "1", Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want[0]) {
		t.Errorf("a generation that is gone: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(dest, want[2], "archive.db.zst")); err != nil || strings.Contains(string(content), "SQLite format") {
		t.Errorf("not compressed: %v", err)
	}
}

// TestBackupRefusesAnotherArchive backs up to the directory of another archive,
// of one that began anew, and of another copy of the same.
func TestBackupRefusesAnotherArchive(t *testing.T) {
	t.Parallel()
	a, other, dest := archivetest.WithMeetings(t, 3), archivetest.WithMeetings(t, 2), t.TempDir()
	backUp(t, a, dest, Options{Keep: 1})
	first, second := restored(t, RestoreOptions{From: dest}), restored(t, RestoreOptions{From: dest})
	refused := func(what string, a *archive.Archive, words ...string) {
		t.Helper()
		before := archivetest.Tree(t, dest)
		_, err := Run(t.Context(), a, dest, Options{Keep: 1})
		epochs, _ := a.Lineage(t.Context())
		for _, word := range append(words, "a directory of its own", epochs[0]) {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want %q", what, err, word)
			}
		}
		if after := archivetest.Tree(t, dest); len(after) != len(before) || after["generation-000001/manifest.json"] != before["generation-000001/manifest.json"] {
			t.Errorf("%s: the backup was changed", what)
		}
	}
	lineage, _ := a.Lineage(t.Context())
	refused("another archive", other, "another archive", lineage[0])
	archivetest.Apply(t, first, archivetest.Epoch, archivetest.Meeting(9, "T", "after the restore"))
	if r := backUp(t, first, dest, Options{Keep: 2}); len(r.Doubts) > 0 {
		t.Errorf("a restored archive goes on: %v", r.Doubts)
	}
	refused("the archive that was left behind", a, "another copy")
	refused("a second copy", second, "another copy")
}

// TestNothingIsPrunedWhileMeetingsAreMissing loses meetings, not by forgetting,
// backs up again and again, and still has them.
func TestNothingIsPrunedWhileMeetingsAreMissing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 4), t.TempDir()
	keep := Options{Keep: 1}
	backUp(t, a, dest, keep)
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	if r := backUp(t, a, dest, keep); len(r.Doubts) > 0 || len(r.Pruned) != 1 {
		t.Fatalf("after forgetting: %+v", r)
	}
	for _, table := range []string{"parts", "revisions", "sightings", "meeting_speakers", "invitees", "meetings"} {
		archivetest.Damage(t, mainDB(a), `DELETE FROM `+table+` WHERE recording_id = 3`)
	}
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(8, "T", "another one")) // as many as before
	for range 2 {
		r := backUp(t, a, dest, keep)
		if len(r.Doubts) != 1 || !strings.HasSuffix(r.Doubts[0], "not forgotten: 3") || len(r.Pruned) > 0 {
			t.Errorf("%+v", r)
		}
	}
	if c, err := restored(t, RestoreOptions{From: dest, Generation: "2"}).Counts(t.Context()); err != nil || c.Meetings != 3 {
		t.Errorf("what was lost: %+v, %v", c, err)
	}
	if r := backUp(t, a, dest, Options{Keep: 2, AcceptFewer: true}); len(r.Doubts) > 0 || len(r.Pruned) != 2 {
		t.Errorf("accepted: %+v", r)
	}
	if r := backUp(t, a, dest, keep); len(r.Doubts) > 0 || len(r.Pruned) != 2 {
		t.Errorf("after it was accepted: %+v", r)
	}
	archivetest.Damage(t, mainDB(a), `DELETE FROM changes WHERE seq > 3`, `UPDATE sqlite_sequence SET seq = 3 WHERE name = 'changes'`)
	if r := backUp(t, a, dest, keep); len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0], "older copy") {
		t.Errorf("with an older archive.db: %+v", r)
	}
}

// TestNothingIsPrunedThatCameAfterTheRestoredBackup restores another backup than the newest,
// which has later words of the same meetings.
func TestNothingIsPrunedThatCameAfterTheRestoredBackup(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
	backUp(t, a, dest, Options{})
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), archivetest.Meeting(1, "T", "later words"))
	backUp(t, a, dest, Options{})
	if _, err := a.Forget(t.Context(), 2, "asked for"); err != nil { // which the restore repeats
		t.Fatal(err)
	}
	older := restored(t, RestoreOptions{From: dest, Generation: "1"})
	if r := backUp(t, older, dest, Options{Keep: 1}); len(r.Doubts) != 1 || !strings.HasPrefix(r.Doubts[0], "generation-000002 has ") || len(r.Pruned) > 0 {
		t.Errorf("after the restore of the older one: %+v", r)
	}
	if r := backUp(t, older, dest, Options{Keep: 1, AcceptFewer: true}); len(r.Doubts) > 0 || len(r.Pruned) != 3 {
		t.Errorf("accepted: %+v", r)
	}
	again := restored(t, RestoreOptions{From: dest})
	if r := backUp(t, again, dest, Options{Keep: 1}); len(r.Doubts) > 0 || len(r.Pruned) != 1 {
		t.Errorf("after the restore of the newest one: %+v", r)
	}
}

func TestABackupOfTheFirstVersionIsAGeneration(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	before := contents(t, a)
	backUp(t, a, dest, Options{})
	asFirstVersion(t, dest)
	if contents(t, restored(t, RestoreOptions{From: dest})) != before {
		t.Error("the restored archive differs")
	}
	if _, err := Run(t.Context(), archivetest.New(t), dest, Options{}); err == nil || !strings.Contains(err.Error(), "another archive") {
		t.Errorf("another archive: %v", err)
	}
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(7, "T", "said"))
	if r := backUp(t, a, dest, Options{Keep: 2}); r.Kept != 1 || len(r.Doubts) > 0 {
		t.Errorf("beside it: %+v", r)
	}
	if contents(t, restored(t, RestoreOptions{From: dest, Generation: "snapshot-1"})) != before {
		t.Error("the restored archive differs")
	}
	if r := backUp(t, a, dest, Options{Keep: 2}); !slices.Equal(r.Pruned, []string{"snapshot-1"}) {
		t.Errorf("after it: %+v", r)
	}
	left, _ := filepath.Glob(filepath.Join(dest, "*"))
	if names := generationNames(t, dest); len(names) != 2 || len(left) != 4 { // and media, lock
		t.Errorf("%v in %v", names, left)
	}
}

// TestAGenerationWithoutItsManifestIsNone takes the manifest away, as a removal
// that was interrupted does, and damages one.
func TestAGenerationWithoutItsManifestIsNone(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 2), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	for range 3 {
		backUp(t, a, dest, Options{})
	}
	if err := durable.Remove(filepath.Join(dest, "generation-000003", generation.ManifestName)); err != nil {
		t.Fatal(err)
	}
	if got := generationNames(t, dest); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if r := backUp(t, a, dest, Options{Keep: 2}); r.Generation != "generation-000004" || len(r.Pruned) != 1 {
		t.Errorf("%+v", r)
	}
	if archivetest.Exists(filepath.Join(dest, "generation-000003")) {
		t.Error("what an interrupted removal left is still there")
	}
	if err := os.WriteFile(filepath.Join(dest, "generation-000002", generation.ManifestName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	archivetest.Attach(t, a, 2, "more of them")
	if r := backUp(t, a, dest, Options{Keep: 1}); len(r.Pruned) > 0 || len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0], "generation-000002") {
		t.Errorf("beside a damaged one: %+v", r)
	}
}

// TestBackupRefusesDataDirectories backs up into the archive's own data directory,
// by its name and by links, and into that of another archive, which has recordings.
func TestBackupRefusesDataDirectories(t *testing.T) {
	t.Parallel()
	a, other, links := archivetest.WithMeetings(t, 1), archivetest.WithMeetings(t, 1), t.TempDir()
	archivetest.Attach(t, other, 1, "of another archive")
	must(t, other.Close())
	must(t, os.Symlink(a.Dir(), filepath.Join(links, "whole")))
	must(t, os.Symlink(filepath.Join(a.Dir(), "media"), filepath.Join(links, "media")))
	before := archivetest.Tree(t, other.Dir())
	for _, dest := range []string{a.Dir(), filepath.Join(a.Dir(), "backups"), filepath.Join(links, "whole"), filepath.Join(links, "whole", "a", "b"),
		filepath.Join(links, "media", "x"), other.Dir()} {
		if _, err := Run(t.Context(), a, os.DevNull, Options{Keep: 1}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("a backup into a device: %v", err)
		}
		if _, err := Run(t.Context(), a, dest, Options{Keep: 1}); err == nil || !strings.Contains(err.Error(), "data directory") {
			t.Errorf("%s: %v", dest, err)
		}
	}
	if after := archivetest.Tree(t, other.Dir()); len(after) != len(before) {
		t.Errorf("the other archive has lost files: %d of %d", len(before)-len(after), len(before))
	}
	if archivetest.Exists(filepath.Join(a.Dir(), "backups")) || archivetest.Exists(filepath.Join(a.Dir(), "a")) {
		t.Error("something was written into the data directory")
	}
}
