package backup

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
	"minutebook/internal/durable"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

func generationNames(t *testing.T, dest string) (names []string) {
	t.Helper()
	all, err := generation.List(dest)
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
	g, err := generation.Find(dest, "")
	if err != nil {
		t.Fatal(err)
	}
	m := g.Manifest
	m.Version, m.Lineage, m.IDs, m.Files = generation.FirstVersion, nil, nil, nil
	b := &run{dest: dest}
	if err := os.MkdirAll(filepath.Join(dest, "snapshot-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range g.Files {
		name, db, _ := strings.Cut(filepath.Base(f.Path), ".db")
		if db == "" {
			m.Files = append(m.Files, f)
			continue
		}
		r, err := g.Open(f, nil)
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
	if err := generation.WriteManifest(dest, m); err != nil {
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

// TestForgottenWhileABackupRunsIsNotInIt forgets a meeting after each file that a
// backup copies.
func TestForgottenWhileABackupRunsIsNotInIt(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 3; step++ {
		a, dest := archivetest.New(t), t.TempDir()
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "zebrafish"), archivetest.Meeting(2, "T", "said"))
		archivetest.Attach(t, a, 1, "zebrafish swimming")
		d := inbox.Delivery{Account: "main", WebhookID: "msg_1", ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: archivetest.Meeting(1, "T", "zebrafish"), RecordingID: 1}
		if _, err := a.Inbox().Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		tries := 0
		backUp(t, a, dest, Options{Progress: func(done, _ int) {
			if tries++; tries == step {
				if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
					t.Error(err)
				}
			}
		}})
		dir := filepath.Join(t.TempDir(), "back")
		back := restored(t, RestoreOptions{From: dest, Dir: dir})
		if c, err := back.Counts(t.Context()); err != nil || c.Meetings != 1 {
			t.Errorf("forgotten after %d files: %+v, %v", step, c, err)
		}
		if p, err := back.Inbox().Pending(t.Context(), 9); err != nil || len(p) > 0 && p[0].Body != nil {
			t.Errorf("forgotten after %d files: its delivery is in the backup: %d, %v", step, len(p), err)
		}
		if files := slices.Concat(residue.Find(t, "zebrafish", dest), residue.Find(t, "zebrafish", dir)); files != nil {
			t.Errorf("forgotten after %d files: it is in %v", step, files)
		}
		if f, err := a.Forget(t.Context(), 1, "again"); err != nil || f.Backups != nil {
			t.Errorf("backups that hold it: %v, %v", f.Backups, err)
		}
	}
}

// TestBackupCopiesTheInboxBeforeTheArchive receives and applies a delivery after
// the first copy. What was acknowledged is in the restored inbox or archive.
func TestBackupCopiesTheInboxBeforeTheArchive(t *testing.T) {
	t.Parallel()
	a, dest, n := archivetest.New(t), t.TempDir(), 0
	backUp(t, a, dest, Options{Progress: func(int, int) {
		if n++; n > 1 {
			return
		}
		raw := archivetest.Meeting(5, "T", "said between the copies")
		if _, err := a.Inbox().Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "msg_5", ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: raw}); err != nil {
			t.Error(err)
		}
		archivetest.Apply(t, a, archivetest.Epoch, raw)
		if err := a.Inbox().Settle(t.Context(), inbox.Outcome{ID: 1}); err != nil {
			t.Error(err)
		}
	}})
	back := restored(t, RestoreOptions{From: dest})
	pending, err := back.Inbox().Pending(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := back.Row(t.Context(), 5); err != nil && len(pending) == 0 {
		t.Errorf("what was acknowledged is neither in the inbox nor in the archive: %v", err)
	}
}

// TestInterruptedRestoreTakesNoOtherBackup interrupts a restore and then tries
// others.
func TestInterruptedRestoreTakesNoOtherBackup(t *testing.T) {
	t.Parallel()
	a, other, dest, foreign := archivetest.WithMeetings(t, 2), archivetest.WithMeetings(t, 5), t.TempDir(), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	backUp(t, a, dest, Options{})
	backUp(t, a, dest, Options{})
	archivetest.Attach(t, other, 1, "of another archive")
	backUp(t, other, foreign, Options{})
	dir := filepath.Join(t.TempDir(), "back")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Restore(ctx, RestoreOptions{From: foreign, Dir: dir, Progress: func(done, total int) {
		if done == total {
			cancel()
		}
	}}); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	if err := os.Rename(filepath.Join(dir, archive.RestoringFile+"-inbox.db"), filepath.Join(dir, "inbox.db")); err != nil { // as the last step does
		t.Fatal(err)
	}
	for _, o := range []RestoreOptions{{From: dest}, {From: dest, Generation: "1"}} {
		o.Dir = dir
		if _, err := Restore(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--restart") {
			t.Errorf("another backup went on: %v", err)
		}
	}
	if contents(t, restored(t, RestoreOptions{From: dest, Dir: dir, Restart: true})) != contents(t, a) {
		t.Error("the restored archive differs")
	}
	if media, _ := filepath.Glob(filepath.Join(dir, "media", "??", "*")); len(media) != 1 {
		t.Errorf("recordings %v; want the one of the backup", media)
	}
}

// TestABackupIsNotMadeTwiceAtOnce begins a second backup while one is made.
func TestABackupIsNotMadeTwiceAtOnce(t *testing.T) {
	t.Parallel()
	now, dest := archivetest.Epoch, t.TempDir()
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return now })
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	var second error
	backUp(t, a, dest, Options{Progress: func(done, _ int) {
		if done == 1 {
			_, second = Run(context.Background(), a, dest, Options{})
		}
	}})
	if second == nil || !strings.Contains(second.Error(), "try again") {
		t.Errorf("a second one at once: %v", second)
	}
	if names := generationNames(t, dest); len(names) != 1 {
		t.Errorf("%v", names)
	}
	now = archivetest.Epoch.Add(-time.Hour) // a clock that was set back
	if r := backUp(t, a, dest, Options{Keep: 1}); !slices.Equal(r.Pruned, []string{"generation-000001"}) {
		t.Errorf("with the clock set back: %+v", r)
	}
}

// TestABackupNamesLostRecordings loses a recording that no generation has, and
// damages another one: everything else is backed up, nothing is removed, and the
// restored archive misses the two alone.
func TestABackupNamesLostRecordings(t *testing.T) {
	t.Parallel()
	a, dest := archivetest.WithMeetings(t, 4), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	keep := Options{Keep: 1}
	backUp(t, a, dest, keep)
	absent, damaged := archivetest.Attach(t, a, 2, "in no backup"), archivetest.Attach(t, a, 3, "damaged before any")
	archivetest.Attach(t, a, 4, "the newest of them")
	must(t, os.Remove(blobPath(a, absent.SHA256)))
	must(t, os.Chmod(blobPath(a, damaged.SHA256), 0o600))
	must(t, os.WriteFile(blobPath(a, damaged.SHA256), []byte("damaged before anY"), 0o400))
	r := backUp(t, a, dest, keep)
	if len(r.Lost) != 2 || len(r.Pruned) > 0 || r.Copied+r.Kept != 4 || !strings.Contains(r.Lost[0].String()+r.Lost[1].String(), `recording of "T"`) {
		t.Errorf("%+v", r)
	}
	if n := len(generationNames(t, dest)); n != 2 || archivetest.Exists(filepath.Join(dest, "media", damaged.SHA256[:2], damaged.SHA256)) {
		t.Errorf("%d generations, or the damaged recording is in them", n)
	}
	_, damages := verify(t, restored(t, RestoreOptions{From: dest}), archive.VerifyOptions{})
	if len(damages) != 2 || damages[0].Class != archive.DamageFileMissing || damages[1].Class != archive.DamageFileMissing {
		t.Errorf("restored: %v", damages)
	}
	verify(t, a, archive.VerifyOptions{Repair: true})
	if r := backUp(t, a, dest, keep); len(r.Lost)+len(r.Doubts) > 0 || len(r.Pruned) != 2 {
		t.Errorf("after the repair: %+v", r)
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

// TestARestoreOfAnOlderGenerationBringsNothingForgottenBack restores a generation that
// holds a meeting which was forgotten later, once with the directory of backups in reach
// at that time and once not before the next backup.
func TestARestoreOfAnOlderGenerationBringsNothingForgottenBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, reached := range []bool{true, false} {
		a, dest := archivetest.New(t), filepath.Join(t.TempDir(), "backups")
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "zebrafish"), archivetest.Meeting(2, "T", "said"))
		archivetest.Attach(t, a, 1, "zebrafish swimming")
		for id, raw := range map[string][]byte{"msg_1": archivetest.Meeting(1, "T", "zebrafish"), "msg_3": archivetest.Meeting(3, "T", "zebrafish")} {
			d := inbox.Delivery{Account: "main", WebhookID: id, ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: raw}
			if _, err := a.Inbox().Put(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		backUp(t, a, dest, Options{})
		if !reached {
			must(t, os.Rename(dest, dest+"-unplugged"))
		}
		for _, id := range []int64{1, 3} {
			if _, err := a.Forget(t.Context(), id, "asked for"); err != nil {
				t.Fatal(err)
			}
		}
		if !reached {
			must(t, os.Rename(dest+"-unplugged", dest))
			backUp(t, a, dest, Options{})
		}
		dir := filepath.Join(t.TempDir(), "back")
		back := restored(t, RestoreOptions{From: dest, Generation: "1", Dir: dir})
		if _, err := back.Row(t.Context(), 1); !errors.Is(err, archive.ErrForgotten) {
			t.Errorf("reached %t: the forgotten meeting: %v", reached, err)
		}
		must(t, back.FinishForgetting(t.Context()))
		if files := residue.Find(t, "zebrafish", dir); files != nil {
			t.Errorf("reached %t: it is in %v", reached, files)
		}
		if all, open, err := back.Tombstones(t.Context()); err != nil || !slices.Equal(all, []int64{1, 3}) || open != nil {
			t.Errorf("reached %t: tombstones %v, open %v, %v", reached, all, open, err)
		}
		if c, err := back.Counts(t.Context()); err != nil || c.Meetings != 1 {
			t.Errorf("reached %t: %+v, %v", reached, c, err)
		}
	}
}
