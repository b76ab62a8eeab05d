package access

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/archive/notes"
)

// TestAPrivateNoteIsNotTheNextPersons has a person who came, and wrote a private note, after
// access.db was copied into a backup and before notes.db was, and one where the backup lacks
// access.db. The restored access.db gives the person's number to nobody.
func TestAPrivateNoteIsNotTheNextPersons(t *testing.T) {
	for name, isLost := range map[string]bool{"access.db is of an earlier moment": false, "access.db is lost": true} {
		t.Run(name, func(t *testing.T) {
			from, dest := t.TempDir(), filepath.Join(t.TempDir(), "backups")
			a := archivetest.Open(t, from)
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
			d, err := notes.Open(t.Context(), notes.Options{Archive: a})
			if err != nil {
				t.Fatal(err)
			}
			write := func(person int64) {
				_, err := d.Add(t.Context(), notes.Note{RecordingID: 1, Text: "cleo's secret", Private: true, Person: person})
				saved, err2 := d.Save(t.Context(), person, "mine", "said")
				_, err3 := d.SetNotify(t.Context(), person, saved.ID, "https://cleo.example/hook", time.Time{})
				if err := errors.Join(err, err2, err3); err != nil {
					t.Error(err)
				}
			}
			o := backup.Options{}
			if isLost {
				write(1)
			} else {
				f := fixtureOf(t, a)
				f.add(t, "admin@acme.example", true)
				o.Progress = func(done, total int) {
					if done == 1 { // access.db is copied, and notes.db is not
						write(f.add(t, "cleo@acme.example", false).ID)
					}
				}
			}
			if _, err := backup.Run(t.Context(), a, dest, o); err != nil {
				t.Fatal(err)
			}
			back := filepath.Join(t.TempDir(), "back")
			if _, err := backup.Restore(t.Context(), backup.RestoreOptions{From: dest, Dir: back, Logger: zerolog.Nop()}); err != nil {
				t.Fatal(err)
			}
			g := openFixture(t, back)
			if d, err = notes.Open(t.Context(), notes.Options{Archive: g.archive}); err != nil {
				t.Fatal(err)
			}
			dave := g.add(t, "dave@acme.example", false)
			if list, err := d.ForMeeting(t.Context(), dave.ID, 1); err != nil || len(list) > 0 {
				t.Errorf("dave is %d and reads %+v, %v", dave.ID, list, err)
			}
			if list, err := d.SavedWithNotify(t.Context()); err != nil || len(list) != 1 || list[0].Person == dave.ID {
				t.Errorf("matches that dave sees are sent to %+v, %v", list, err)
			}
		})
	}
}
