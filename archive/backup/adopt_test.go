package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/internal/residue"
	"minutebook/internal/sqlite"
)

// deliver puts a meeting into the inbox, and applies all deliveries there.
func deliver(t *testing.T, a *archive.Archive, id int64, word string) {
	t.Helper()
	_, err := a.Inbox().Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: fmt.Sprint("msg_", id), ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch,
		Body: archivetest.Meeting(id, word, word+" said")})
	must(t, err)
	applyPending(t, a)
}

// quarantine puts a delivery aside that could not be applied.
func quarantine(t *testing.T, a *archive.Archive, body []byte) {
	t.Helper()
	_, err := a.Inbox().Put(t.Context(), inbox.Delivery{Account: "main", WebhookID: "msg_aside", ReceivedAt: archivetest.Epoch, SentAt: archivetest.Epoch, Body: body})
	must(t, err)
	waiting, err := a.Inbox().Pending(t.Context(), 1)
	must(t, err)
	must(t, a.Inbox().Quarantine(t.Context(), waiting[0].ID, "a test"))
}

func applyPending(t *testing.T, a *archive.Archive) {
	t.Helper()
	waiting, err := a.Inbox().Pending(t.Context(), 100)
	must(t, err)
	for _, d := range waiting {
		o, err := archive.FromDelivery(d)
		must(t, err)
		_, err = a.Apply(t.Context(), []archive.Observation{o})
		must(t, err)
		must(t, a.Inbox().Settle(t.Context(), inbox.Outcome{ID: d.ID, RecordingID: o.RecordingID}))
	}
}

// replicate copies databases as a replica has them at one moment.
func replicate(t *testing.T, a *archive.Archive, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		f, err := os.OpenFile(filepath.Join(to, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		must(t, err)
		must(t, errors.Join(vacuumInto(t.Context(), filepath.Join(a.Dir(), name), f), f.Close()))
		must(t, os.Chmod(filepath.Join(to, name), 0o644)) // as another program leaves it
	}
}

func adopted(t *testing.T, dir string, o AdoptOptions) *archive.Archive {
	t.Helper()
	o.Dir, o.Logger, o.Now = dir, zerolog.Nop(), nil
	r, err := Adopt(t.Context(), o)
	must(t, err)
	a := archivetest.Open(t, dir)
	must(t, a.FinishForgetting(t.Context()))
	lineage, err := a.Lineage(t.Context())
	if err != nil || lineage[len(lineage)-1] != r.Epoch || len(lineage) < 2 {
		t.Errorf("lineage %q, %v; adopted %+v", lineage, err, r)
	}
	return a
}

// TestAdoptTakesReplicasOfDifferentMoments adopts databases of which now the one is older
// and now the other: no delivery of either is lost, and no meeting that either knows as
// forgotten is anywhere.
func TestAdoptTakesReplicasOfDifferentMoments(t *testing.T) {
	for name, order := range map[string][2]string{"archive.db is older": {"archive.db", "inbox.db"}, "inbox.db is older": {"inbox.db", "archive.db"}} {
		t.Run(name, func(t *testing.T) {
			a, dir := archivetest.New(t), archivetest.Dir(t)
			must(t, os.Chmod(dir, 0o700))
			deliver(t, a, 1, "pelican")
			deliver(t, a, 2, "heron")
			quarantine(t, a, archivetest.Meeting(1, "pelican", "pelican said again"))
			archivetest.Attach(t, a, 1, "pelican pictures")
			replicate(t, a, dir, order[0])
			must(t, os.CopyFS(filepath.Join(dir, "media"), os.DirFS(filepath.Join(a.Dir(), "media")))) // older than both
			deliver(t, a, 3, "stork")
			_, err := a.Forget(t.Context(), 1, "test")
			must(t, err)
			replicate(t, a, dir, order[1])
			b := adopted(t, dir, AdoptOptions{OldData: []string{a.Dir()}})
			applyPending(t, b)
			for _, id := range []int64{2, 3} {
				if _, err := b.Row(t.Context(), id); err != nil {
					t.Errorf("meeting %d: %v", id, err)
				}
			}
			if _, err := b.Row(t.Context(), 1); !errors.Is(err, archive.ErrForgotten) {
				t.Errorf("the forgotten meeting: %v", err)
			}
			if files := residue.Find(t, "pelican", dir); len(files) > 0 {
				t.Errorf("the forgotten meeting is still in %q", files)
			}
			for _, name := range order {
				if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			if v, err := b.Verify(t.Context(), archive.VerifyOptions{}, func(archive.Damage) {}); err != nil || v.Meetings != 2 || v.ExitCode() != 0 {
				t.Errorf("%+v, %v", v, err)
			}
			_, err = b.Media().Put(t.Context(), strings.NewReader("pelican pictures")) // brought after the start
			must(t, err)
			if v, err := b.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(archive.Damage) {}); err != nil || v.Repaired != 1 {
				t.Errorf("%+v, %v", v, err)
			}
			if files := residue.Find(t, "pelican", dir); len(files) > 0 {
				t.Errorf("after a repair the forgotten meeting is in %q", files)
			}
		})
	}
}

// TestRootLeavesWhatItBringsBackToTheOwner adopts and restores as root in directories of another
// user.
func TestRootLeavesWhatItBringsBackToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	a, dir := archivetest.New(t), t.TempDir()
	replicate(t, a, dir, "archive.db", "inbox.db")
	must(t, os.Chown(dir, 65534, 65534))
	_, err := Adopt(t.Context(), AdoptOptions{Dir: dir, Logger: zerolog.Nop()})
	must(t, err)
	checkGiven(t, dir)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	archivetest.Attach(t, a, 1, "moving pictures")
	from, back := filepath.Join(t.TempDir(), "usb"), t.TempDir()
	backUp(t, a, from, Options{})
	must(t, os.Chown(back, 65534, 65534))
	_, err = Restore(t.Context(), RestoreOptions{From: from, Dir: back, Logger: zerolog.Nop()})
	must(t, err)
	checkGiven(t, back)
}

// checkGiven fails for files of a directory that are root's.
func checkGiven(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid == 0 {
			t.Errorf("%s is root's", path)
		}
		return err
	}))
}

// TestAdoptRefuses tries directories that are no restored replica.
func TestAdoptRefuses(t *testing.T) {
	a := archivetest.New(t)
	deliver(t, a, 1, "pelican")
	for name, c := range map[string]struct {
		prepare func(dir string) error
		says    string
	}{
		"no inbox": {func(dir string) error { return os.Remove(filepath.Join(dir, "inbox.db")) }, "inbox.db is missing or empty"},
		"no notes": {func(dir string) error {
			db := sqlite.Connect(filepath.Join(dir, "archive.db"), "?mode=rw", nil)
			_, err := db.Exec(`INSERT INTO info (name, value) VALUES ('database:notes.db', '')`)
			return errors.Join(err, db.Close())
		}, "the archive had notes.db"},
		"lost rows": {func(dir string) error {
			db := sqlite.Connect(filepath.Join(dir, "archive.db"), "?mode=rw", nil)
			_, err := db.Exec(`PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'meetings') WHERE name = 'revisions'`)
			return errors.Join(err, db.Close())
		}, "check archive.db"},
		"damage":     {func(dir string) error { return os.Truncate(filepath.Join(dir, "inbox.db"), 8192) }, "check inbox.db"},
		"unfinished": {func(dir string) error { return os.WriteFile(filepath.Join(dir, archive.RestoringFile), nil, 0o600) }, "run that again"},
		"used":       {func(dir string) error { archivetest.Open(t, dir); return nil }, "in use"},
	} {
		dir := archivetest.Dir(t)
		replicate(t, a, dir, "archive.db", "inbox.db")
		must(t, c.prepare(dir))
		if _, err := Adopt(t.Context(), AdoptOptions{Dir: dir, Logger: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAdoptRefusesALaterSchema raises the schema of one database after another: nothing is
// changed, the modes included.
func TestAdoptRefusesALaterSchema(t *testing.T) {
	a := archivetest.New(t)
	deliver(t, a, 1, "pelican")
	schemas := map[string]fs.FS{"notes.db": os.DirFS("../notes/migrations")}
	_, err := a.SideDB(t.Context(), "notes.db", schemas["notes.db"], nil)
	must(t, err)
	all := []string{"archive.db", "inbox.db", "notes.db"}
	for _, later := range all {
		dir := t.TempDir()
		replicate(t, a, dir, all...)
		db := sqlite.Connect(filepath.Join(dir, later), "?mode=rw", nil)
		_, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
		must(t, errors.Join(err, db.Close()))
		before := readFiles(t, dir, all)
		if _, err := Adopt(t.Context(), AdoptOptions{Dir: dir, Schemas: schemas, Logger: zerolog.Nop()}); !errors.Is(err, sqlite.ErrNewer) || !strings.Contains(err.Error(), later) {
			t.Errorf("%s: %v", later, err)
		}
		if after := readFiles(t, dir, all); !slices.Equal(after, before) {
			t.Errorf("%s: a file has changed", later)
		}
	}
}

// readFiles returns the modes and contents of files.
func readFiles(t *testing.T, dir string, names []string) (files []string) {
	t.Helper()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		b, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		files = append(files, info.Mode().String()+string(b))
	}
	return files
}

// TestAdoptForgetsWhatBackupsRecord adopts databases of a time before a meeting was
// forgotten, which only the directory of backups still tells.
func TestAdoptForgetsWhatBackupsRecord(t *testing.T) {
	a, dir, backups := archivetest.New(t), archivetest.Dir(t), t.TempDir()
	deliver(t, a, 1, "pelican")
	deliver(t, a, 2, "heron")
	backUp(t, a, backups, Options{})
	replicate(t, a, dir, "archive.db", "inbox.db")
	_, err := a.Forget(t.Context(), 1, "test")
	must(t, err)
	must(t, a.Close())
	must(t, os.RemoveAll(a.Dir()))
	b := adopted(t, dir, AdoptOptions{})
	applyPending(t, b)
	if _, err := b.Row(t.Context(), 1); !errors.Is(err, archive.ErrForgotten) {
		t.Errorf("the forgotten meeting: %v", err)
	}
	if files := residue.Find(t, "pelican", dir); len(files) > 0 {
		t.Errorf("the forgotten meeting is still in %q", files)
	}
}

// TestAdoptSaysWhatMayBeBack adopts databases where nobody can tell which meetings were forgotten
// since: no old data directory is there, and the disk of the backups is not mounted.
func TestAdoptSaysWhatMayBeBack(t *testing.T) {
	a, dir, backups := archivetest.New(t), filepath.Join(t.TempDir(), "beside", "nothing"), filepath.Join(t.TempDir(), "usb")
	deliver(t, a, 1, "pelican")
	backUp(t, a, backups, Options{})
	must(t, os.MkdirAll(dir, 0o700))
	replicate(t, a, dir, "archive.db", "inbox.db")
	must(t, errors.Join(os.Rename(backups, backups+"-away"), os.Mkdir(backups, 0o700)))
	var log strings.Builder
	_, err := Adopt(t.Context(), AdoptOptions{Dir: dir, Logger: zerolog.New(&log)})
	must(t, err)
	for _, want := range []string{"no old data directory was read", "this directory of backups cannot be read", "no complete backup here"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in %s", want, log.String())
		}
	}
	log.Reset()
	_, err = Adopt(t.Context(), AdoptOptions{Dir: dir, Logger: zerolog.New(&log), OldData: []string{a.Dir()}})
	if err != nil || strings.Contains(log.String(), "no old data directory") {
		t.Errorf("with the old one: %v, %s", err, log.String())
	}
}

// TestAdoptTakesAnArchiveWithoutItsRecordings has verify call them missing, and repair, where
// nobody brings them.
func TestAdoptTakesAnArchiveWithoutItsRecordings(t *testing.T) {
	a, dir := archivetest.WithMeetings(t, 1), t.TempDir()
	archivetest.Attach(t, a, 1, "moving pictures")
	replicate(t, a, dir, "archive.db", "inbox.db")
	b := adopted(t, dir, AdoptOptions{OldData: []string{a.Dir()}})
	v, damages := verify(t, b, archive.VerifyOptions{Repair: true})
	if v.Lost != 1 || len(damages) != 1 || damages[0].Class != archive.DamageFileMissing {
		t.Errorf("%+v: %v", v, damages)
	}
}
