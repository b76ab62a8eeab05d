package archive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/archive/export"
	"minutebook/archive/importer"
	"minutebook/archive/inbox"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

// marker is a word that only one meeting has, forgottenID.
const (
	marker      = "Xylophonist-Q7w3"
	forgottenID = 20
)

// markedArchive makes a data directory with sixty meetings, of which one has the
// marker in everything that can be kept of a meeting. Its clock goes on.
func markedArchive(t *testing.T) (dir string) {
	t.Helper()
	dir = archivetest.Dir(t)
	a := openMoving(t, dir)
	var meetings []json.RawMessage
	for id := int64(1); id <= 60; id++ {
		text := "some words of the others"
		if id == forgottenID {
			text = strings.Repeat(marker+" whispered. ", 60)
		}
		meetings = append(meetings, archivetest.Meeting(id, fmt.Sprintf("Title %d %.16s", id, text), text))
	}
	archivetest.Apply(t, a, archivetest.Epoch, meetings...)
	archivetest.Attach(t, a, forgottenID, "recording of the "+marker)
	archivetest.Attach(t, a, 21, "recording of others")
	for name, d := range markedDeliveries() {
		d.Account, d.WebhookID, d.ReceivedAt = "main", name, archivetest.Epoch
		if d.Reason != "" {
			archivetest.Quarantine(t, a, d, d.Reason)
		} else if _, err := a.Inbox().Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// markedDeliveries are deliveries about the meeting that were not applied yet, by
// their webhook ids.
func markedDeliveries() map[string]inbox.Delivery {
	whole := archivetest.Meeting(forgottenID, marker, strings.Repeat(marker+" said. ", 60))
	cut := whole[:len(whole)-20]
	return map[string]inbox.Delivery{
		"received":    {Body: whole},
		"quarantined": {Body: whole, Reason: "the disk was full"},
		"unreadable":  {Body: cut, Reason: "it is not JSON"},
		"spaced":      {Body: bytes.Replace(cut, []byte(`"recording_id": 20`), []byte("\"recording_id\"\n : \"20\""), 1), Reason: "it is not JSON"},
		"callback":    {Body: []byte(`{"transcript": ["` + marker + `"]}`), Kind: inbox.KindTranscript, RecordingID: forgottenID},
	}
}

// openMoving opens a data directory with a clock that goes a minute at a look.
func openMoving(t *testing.T, dir string) *archive.Archive {
	t.Helper()
	var mu sync.Mutex
	now := archivetest.Epoch.Add(time.Hour)
	return archivetest.OpenAt(t, dir, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Minute)
		return now
	})
}

func backUp(t *testing.T, a *archive.Archive, dest string) backup.Result {
	t.Helper()
	r, err := backup.Run(t.Context(), a, dest, backup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestADeliveryAfterForgettingLeavesNothing has deliveries about a meeting that
// is forgotten already: nothing of them stays, not in the inbox's log either.
func TestADeliveryAfterForgettingLeavesNothing(t *testing.T) {
	for name, reason := range map[string]string{"applied": "", "quarantined": "it could not be read"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := markedArchive(t)
			a := openMoving(t, dir)
			if _, err := a.Forget(t.Context(), forgottenID, "test"); err != nil {
				t.Fatal(err)
			}
			for id, d := range markedDeliveries() {
				d.Account, d.WebhookID, d.Reason = "main", "again "+id, ""
				if _, err := a.Inbox().Put(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			pending, err := a.Inbox().Pending(t.Context(), 100)
			if err != nil || len(pending) != len(markedDeliveries()) {
				t.Fatalf("%d deliveries wait, %v", len(pending), err)
			}
			for _, d := range pending {
				if err := a.Inbox().Settle(t.Context(), inbox.Outcome{ID: d.ID, RecordingID: d.RecordingID, Quarantine: reason}); err != nil {
					t.Fatal(err)
				}
			}
			if left := residue.Find(t, marker, dir); left != nil {
				t.Errorf("%s is left in %v", marker, left)
			}
		})
	}
}

// TestForgetDuringAnything forgets a meeting at steps of the operations that can run in
// an archive meanwhile, with MINUTEBOOK_LONG at every step. Nothing of the meeting may be
// left in the data directory, nor in the files that the operation wrote.
func TestForgetDuringAnything(t *testing.T) {
	testrun.SkipUnderRace(t)
	marked := markedArchive(t)
	most := 5 // steps of each
	if testrun.IsLong() {
		most = 1000
	}
	type running struct {
		*testing.T
		a    *archive.Archive
		out  string
		step func()
	}
	exporting := func(format export.Format) func(r running) error {
		return func(r running) error {
			o := export.Options{Dir: r.out, Format: format, Progress: func(int) { r.step() }}
			_, err := export.Run(r.Context(), r.a, o)
			o.Progress = nil
			if _, err := export.Run(r.Context(), r.a, o); err != nil { // removes meetings that were forgotten meanwhile
				r.Fatal(err)
			}
			return err
		}
	}
	for name, work := range map[string]func(r running) error{
		"export md": exporting(export.Markdown), "export ndjson": exporting(export.NDJSON),
		"backup": func(r running) error {
			// An earlier generation shares the recordings, and is not looked at.
			earlier := backUp(r.T, r.a, r.out)
			var forgetting sync.WaitGroup // which waits for the end of a copy, as the copy does here for a step
			tombstones := func() []int64 { ids, _, _ := r.a.Tombstones(r.Context()); return ids }
			_, err := backup.Run(r.Context(), r.a, r.out, backup.Options{Progress: func(int, int) {
				if tombstones() != nil {
					r.step()
					return
				}
				stepped := make(chan struct{})
				forgetting.Go(func() { r.step(); close(stepped) })
				for tombstones() == nil {
					select {
					case <-stepped:
						return
					default:
					}
				}
			}})
			forgetting.Wait()
			if err := backup.Remove(r.Context(), r.a, r.out, []string{filepath.Join(r.out, earlier.Generation)}, forgottenID); err != nil {
				r.Error(err)
			}
			return err
		},
		"restore": func(r running) error {
			dest := filepath.Join(filepath.Dir(r.out), "backups")
			backUp(r.T, r.a, dest)
			_, err := backup.Restore(r.Context(), backup.RestoreOptions{From: dest, Dir: filepath.Join(filepath.Dir(r.out), "back"), Progress: func(int, int) { r.step() }})
			if f, err := r.a.Forget(r.Context(), forgottenID, "again"); err == nil && len(f.Backups) != 1 {
				r.Errorf("the backup that holds it is not named: %v", f.Backups)
			}
			return err
		},
		"rebuild": func(r running) error {
			return r.a.Rebuild(r.Context(), func(int, int) { r.step() })
		},
		"verify": func(r running) error {
			_, err := r.a.Verify(r.Context(), archive.VerifyOptions{Repair: true, Progress: func(string, int, int) { r.step() }}, func(archive.Damage) {})
			return err
		},
		"retention": func(r running) error {
			rules := []archive.RetentionRule{{MediaAfter: time.Hour}}
			if err := r.a.AcceptRetention(r.Context(), rules); err != nil {
				return err
			}
			_, err := r.a.DeleteExpired(r.Context(), rules, func(archive.Expired) { r.step() })
			return err
		},
		"import": func(r running) error {
			var lines bytes.Buffer
			for n := range 601 { // four batches
				id, text := int64(forgottenID), marker
				if n%2 > 0 {
					id, text = 21, "words"
				}
				line := archivetest.Meeting(id, "Imported", text)
				lines.Write(append(bytes.ReplaceAll(line, []byte("\n"), nil), '\n'))
			}
			_, err := importer.Read(r.Context(), r.a, importer.Options{Progress: func(int) { r.step() }}, &lines)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth, steps := 1, 1; nth <= steps; nth += steps/most + 1 {
				dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
				if err := os.CopyFS(dir, os.DirFS(marked)); err != nil {
					t.Fatal(err)
				}
				a, at := openMoving(t, dir), 0
				err := work(running{t, a, out, func() {
					if at++; at == nth {
						if _, err := a.Forget(t.Context(), forgottenID, "asked for"); err != nil {
							t.Error(err)
						}
					}
				}})
				if steps == 1 {
					steps = at
				}
				if err != nil && !errors.Is(err, archive.ErrForgotten) {
					t.Fatalf("forgotten at step %d of %d: %v", nth, steps, err)
				}
				if at < nth {
					continue // a retry had fewer
				}
				if left := residue.Find(t, marker, dir); left != nil {
					t.Errorf("forgotten at step %d of %d, it is still in %v", nth, steps, left)
				}
				if left := residue.Find(t, marker, out); left != nil {
					t.Errorf("forgotten at step %d of %d, it is still in %v", nth, steps, left)
				}
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
