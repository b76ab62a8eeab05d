package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

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
		tries, forgotten := 0, make(chan error)
		backUp(t, a, dest, Options{Progress: func(done, _ int) {
			if tries++; tries == step {
				go func() {
					_, err := a.Forget(context.Background(), 1, "asked for")
					forgotten <- err
				}()
				for tombstones := []int64(nil); tombstones == nil; {
					tombstones, _, _ = a.Tombstones(t.Context())
				}
			}
		}})
		if err := <-forgotten; err != nil {
			t.Error(err)
		}
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
// the first copy. Every acknowledged delivery is in the restored inbox or archive.
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

// TestABackupNamesLostRecordings loses a recording that no generation has, damages another
// one, and puts a directory and a link to itself in the place of two: everything else is
// backed up, nothing is removed, and the restored archive misses these alone.
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
	directory, loop := blobPath(a, archivetest.Attach(t, a, 2, "a directory").SHA256), blobPath(a, archivetest.Attach(t, a, 3, "a link").SHA256)
	must(t, errors.Join(os.Remove(directory), os.Mkdir(directory, 0o700), os.Remove(loop), os.Symlink(loop, loop)))
	r := backUp(t, a, dest, keep)
	if len(r.Lost) != 4 || len(r.Pruned) > 0 || r.Copied+r.Kept != 4 || !strings.Contains(r.Lost[0].String()+r.Lost[1].String(), `recording of meeting `) {
		t.Errorf("%+v", r)
	}
	if n := len(generationNames(t, dest)); n != 2 || archivetest.Exists(filepath.Join(dest, "media", damaged.SHA256[:2], damaged.SHA256)) {
		t.Errorf("%d generations, or the damaged recording is in them", n)
	}
	_, damages := verify(t, restored(t, RestoreOptions{From: dest}), archive.VerifyOptions{})
	if len(damages) != 4 || slices.ContainsFunc(damages, func(d archive.Damage) bool { return d.Class != archive.DamageFileMissing }) {
		t.Errorf("restored: %v", damages)
	}
	must(t, os.Remove(loop)) // which verify asks for
	verify(t, a, archive.VerifyOptions{Repair: true})
	if r := backUp(t, a, dest, keep); len(r.Lost)+len(r.Doubts) > 0 || len(r.Pruned) != 2 {
		t.Errorf("after the repair: %+v", r)
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
