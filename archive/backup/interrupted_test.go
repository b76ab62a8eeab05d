package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

func TestEveryDamageOfABackupIsNamedAndRefused(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "moving pictures")
	r := backUp(t, a, dest, Options{})
	manifest := r.Generation + "/" + generation.ManifestName
	files := []string{manifest}
	for _, f := range r.Manifest.Files {
		files = append(files, f.Path)
	}
	for _, name := range files {
		path := filepath.Join(dest, filepath.FromSlash(name))
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, content := range map[string][]byte{
			"flipped": append(append(bytes.Clone(whole[:len(whole)/2]), whole[len(whole)/2]^0x20), whole[len(whole)/2+1:]...),
			"short":   whole[:len(whole)-1], "long": append(bytes.Clone(whole), 'x'), "empty": {}, "missing": nil} {
			os.Remove(path)
			if content != nil {
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(t.TempDir(), "back")
			_, err := Restore(t.Context(), RestoreOptions{From: dest, Dir: dir})
			var damaged *generation.DamagedError
			if name == manifest && what == "missing" {
				if !errors.Is(err, generation.ErrNone) {
					t.Errorf("%s %s: %v", name, what, err)
				}
			} else if !errors.As(err, &damaged) || len(damaged.Damage) != 1 || !strings.HasPrefix(damaged.Damage[0], name+": ") {
				t.Errorf("%s %s: %v", name, what, err)
			}
			if archivetest.Exists(dir) {
				t.Errorf("%s %s: something was written", name, what)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dest, "forgotten.json")
	for what, content := range map[string]string{"short": `[{"recording_id":1`, "empty": "", "another": "{}"} {
		dir := filepath.Join(t.TempDir(), "back")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(t.Context(), RestoreOptions{From: dest, Dir: dir})
		var damaged *generation.DamagedError
		if !errors.As(err, &damaged) || len(damaged.Damage) != 1 || !strings.HasPrefix(damaged.Damage[0], "forgotten.json: ") || archivetest.Exists(dir) {
			t.Errorf("forgotten.json %s: %v; something was written: %t", what, err, archivetest.Exists(dir))
		}
		backUp(t, a, dest, Options{})
		place, err := generation.OpenPlace(dest)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := generation.ReadForgotten(t.Context(), place); err != nil || len(list) != 1 || list[0].RecordingID != 1 {
			t.Errorf("%s: the next backup noted %v, %v", what, list, err)
		}
		if kept, err := os.ReadFile(path + ".damaged"); err != nil || string(kept) != content {
			t.Errorf("%s: set aside is %q, %v", what, kept, err)
		}
	}
	restored(t, RestoreOptions{From: dest})
}

func TestInterruptedRestoreIsNoArchiveAndGoesOn(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "moving pictures")
	r := backUp(t, a, dest, Options{})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, durable.TempPrefix+"1"), nil, 0o600); err != nil { // of a kill at the first write
		t.Fatal(err)
	}
	for stop := 1; stop < len(r.Manifest.Files); stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Restore(ctx, RestoreOptions{From: dest, Dir: dir, Progress: func(done, _ int) {
			if done == stop {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d: %v", stop, err)
		}
		if _, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true}); !errors.Is(err, archive.ErrNoArchive) {
			t.Fatalf("opened after %d files: %v", stop, err)
		}
	}
	if contents(t, restored(t, RestoreOptions{From: dest, Dir: dir})) != contents(t, a) {
		t.Error("the restored archive differs")
	}
	if _, err := Restore(t.Context(), RestoreOptions{From: dest, Dir: a.Dir()}); err == nil || !strings.Contains(err.Error(), "move the directory away, such as to "+a.Dir()+".old") {
		t.Errorf("restored over an archive: %v", err)
	}
}

func TestInterruptedBackupLeavesTheEarlierOne(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	archivetest.Attach(t, a, 1, "one")
	backUp(t, a, dest, Options{})
	before := contents(t, a)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(2, "second", "b"))
	archivetest.Attach(t, a, 2, "two")
	for stop := 1; stop < 4; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Run(ctx, a, dest, Options{Progress: func(done, _ int) {
			if done == stop {
				cancel()
			}
		}})
		if err == nil {
			t.Fatalf("went on after %d files", stop)
		}
		if contents(t, restored(t, RestoreOptions{From: dest})) != before {
			t.Errorf("stopped after %d files: the earlier backup is not whole", stop)
		}
	}
}

// slowRecipient is a recipient for whose encryption a test waits, once.
type slowRecipient struct {
	age.Recipient
	wait func()
}

func (r slowRecipient) Wrap(key []byte) ([]*age.Stanza, error) {
	r.wait()
	return r.Recipient.Wrap(key)
}

// TestForgetEndsABackup forgets a meeting while a plain copy of archive.db, which has it, waits
// in the data directory for its encryption. The copy is gone when forget returns, and the
// backup is made without the meeting.
func TestForgetEndsABackup(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "zebrafish", "a"), archivetest.Meeting(2, "second", "b"))
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	copied := func() []string {
		paths, _ := filepath.Glob(filepath.Join(a.Dir(), durable.TempPrefix+"backup-archive.db-*"))
		return paths
	}
	forgotten := make(chan error, 1)
	once := sync.OnceFunc(func() {
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			_, err := a.Forget(context.Background(), 1, "asked for")
			for _, path := range copied() {
				if left, _ := os.ReadFile(path); err == nil && bytes.Contains(left, []byte("zebrafish")) {
					err = errors.New("the copy is still there")
				}
			}
			forgotten <- err
		}()
		select {
		case <-returned: // too early
		case <-time.After(200 * time.Millisecond):
		}
	})
	r := backUp(t, a, dest, Options{Recipients: []age.Recipient{slowRecipient{id.Recipient(), func() {
		if copied() != nil {
			once()
		}
	}}}})
	if err := <-forgotten; err != nil || !slices.Equal(r.Manifest.IDs, []int64{2}) {
		t.Errorf("%v; the backup has %v", err, r.Manifest.IDs)
	}
}

// TestForgetNamesTheBackupsThatHoldIt follows a backup from the one that holds a
// meeting to the next, which does not.
func TestForgetNamesTheBackupsThatHoldIt(t *testing.T) {
	now := archivetest.Epoch.Add(time.Hour)
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { now = now.Add(time.Minute); return now })
	first, second := t.TempDir(), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"), archivetest.Meeting(2, "second", "b"))
	backUp(t, a, first, Options{})
	backUp(t, a, second, Options{})
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(3, "after the backups", "c"))
	generation := func(dest string, n int) string {
		return filepath.Join(dest, fmt.Sprintf("%s%06d", generation.Prefix, n))
	}
	forgotten := func(id int64) []string {
		f, err := a.Forget(t.Context(), id, "asked for")
		if err != nil {
			t.Fatal(err)
		}
		return f.Backups
	}
	if got := forgotten(1); !slices.Equal(got, []string{generation(first, 1), generation(second, 1)}) {
		t.Errorf("backups with meeting 1: %v", got)
	}
	if got := forgotten(3); got != nil {
		t.Errorf("backups with meeting 3: %v", got)
	}
	backUp(t, a, first, Options{Keep: 2})
	if got := forgotten(1); !slices.Equal(got, []string{generation(first, 1), generation(second, 1)}) {
		t.Errorf("after a new backup beside the first: %v", got)
	}
	backUp(t, a, first, Options{Keep: 2})
	if got := forgotten(1); !slices.Equal(got, []string{generation(second, 1)}) {
		t.Errorf("after the first was pruned: %v", got)
	}
	back := restored(t, RestoreOptions{From: second})
	f, err := back.Forget(t.Context(), 2, "asked for")
	if err != nil || !slices.Equal(f.Backups, []string{generation(first, 2), generation(first, 3), generation(second, 1)}) {
		t.Errorf("of a restored archive: %v, %v", f.Backups, err)
	}
	if err := os.Rename(second, second+"-unplugged"); err != nil {
		t.Fatal(err)
	}
	if got := forgotten(2); !slices.Equal(got, f.Backups) {
		t.Errorf("with a disk that is not there: %v", got)
	}
}

// TestABackupThatIsWrittenWrongIsNone: a file that differs on the disk from the bytes that
// were written is found before the manifest, and nothing older is removed.
func TestABackupThatIsWrittenWrongIsNone(t *testing.T) {
	t.Parallel()
	a := archivetest.New(t)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "Title", "text"))
	dest := filepath.Join(t.TempDir(), "backups")
	backUp(t, a, dest, Options{})
	damaged := false
	_, err := Run(t.Context(), a, dest, Options{Keep: 1, Progress: func(int, int) {
		paths, _ := filepath.Glob(filepath.Join(dest, "generation-000002", "archive.db*"))
		if len(paths) == 0 || damaged {
			return
		}
		damaged = true
		if err := os.Truncate(paths[0], 10); err != nil {
			t.Error(err)
		}
	}})
	if names := generationNames(t, dest); err == nil || !damaged || !slices.Equal(names, []string{"generation-000001"}) {
		t.Errorf("backed up with %v; the generations are %v", err, names)
	}
}

// A backup that is killed each time before its end keeps the disk no fuller than once. It
// removes the files of the one before it as it begins, not when it has succeeded.
func TestABackupBeginsByRemovingTheFilesOfAKilledOne(t *testing.T) {
	a, dest := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "a"))
	backUp(t, a, dest, Options{})
	killed := filepath.Join(dest, generation.Prefix+"000077")
	if err := errors.Join(os.Mkdir(killed, 0o700), os.WriteFile(filepath.Join(killed, ".tmp-inbox.db"), []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	backUp(t, a, dest, Options{Progress: func(int, int) {
		if archivetest.Exists(killed) {
			t.Error("its files are still there")
		}
	}})
}

// TestARestoreLosesNoLogOfADatabase has another program read archive.db while it is restored, so
// that SQLite does not empty its log when the restore closes it.
func TestARestoreLosesNoLogOfADatabase(t *testing.T) {
	t.Parallel()
	a, dest, dir := archivetest.WithMeetings(t, 1), t.TempDir(), filepath.Join(t.TempDir(), "back")
	backUp(t, a, dest, Options{})
	o := RestoreOptions{From: dest, Dir: dir, Progress: func(done, total int) {
		if done < total {
			return
		}
		db, err := sqlite.Open(t.Context(), filepath.Join(dir, archive.RestoringFile+"-archive.db"))
		must(t, err)
		t.Cleanup(func() { db.Close() })
		tx, err := db.R.BeginTx(t.Context(), nil)
		must(t, err)
		t.Cleanup(func() { tx.Rollback() })
		var meetings int
		must(t, tx.QueryRowContext(t.Context(), `SELECT count(*) FROM meetings`).Scan(&meetings))
	}}
	if _, err := Restore(t.Context(), o); !errors.Is(err, sqlite.ErrLogRead) {
		t.Errorf("restored: %v", err)
	}
}
