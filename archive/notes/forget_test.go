package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/internal/residue"
)

// fill adds a note, a tick and a judgement with a word about a meeting.
func (d *DB) fill(t *testing.T, meeting int64, word string) {
	t.Helper()
	n := d.add(t, ann, meeting, "first "+word+"old", true)
	check(t, d.Change(t.Context(), ann, n.ID, "about "+word, false, time.Time{}))
	check(t, d.Tick(t.Context(), ann, Item{meeting, -1, "ask " + word}))
	_, err := d.Merge(t.Context(), ann, word, "Ann", "ann@example.com")
	check(t, err)
}

func TestForgetLeavesNoByte(t *testing.T) {
	const word = "xylophonistquartz"
	a := archivetest.WithMeetings(t, 2)
	d := openNotes(t, a)
	d.fill(t, 1, word)
	for i := range 40 {
		d.add(t, bob, 2, fmt.Sprint("xylophone and quarter ", i), false)
	}
	if residue.Find(t, word, a.Dir()) == nil {
		t.Fatal("the word is not there to be forgotten")
	}
	if _, err := a.Forget(t.Context(), 1, "test"); err != nil {
		t.Fatal(err)
	}
	if files := residue.Find(t, word, a.Dir()); files != nil {
		t.Errorf("the word is left in %v", files)
	}
	if left, err := d.all(t.Context(), bob); err != nil || len(left) != 40 {
		t.Errorf("other notes: %d, %v", len(left), err)
	}
	g, err := d.Groups(t.Context())
	check(t, err)
	expect(t, "names that other meetings have", g.Same("Ann"), []string{"Ann", "ann@example.com"})
	damages, err := d.Check(t.Context(), false)
	if err != nil || len(damages) != 0 {
		t.Errorf("check: %v, %v", damages, err)
	}
}

// TestForgetKeepsTheNamesOfOthers forgets a meeting: a judgement stays whose names another
// meeting has, however it spells them.
func TestForgetKeepsTheNamesOfOthers(t *testing.T) {
	for spelled, name := range map[string]string{"Ada\u3000": "Ada", "\u2003Ada": "Ada", "Ada\nLovelace": "Ada\r\nLovelace", "\u00c4DA": "\u00e4da", "Ada\x00": "Ada\ufffd"} {
		t.Run(fmt.Sprintf("%q", spelled), func(t *testing.T) {
			a := archivetest.New(t)
			text, err := json.Marshal(spelled)
			check(t, err)
			other := bytes.Replace(archivetest.Meeting(2, "two", "said"), []byte(`{"display_name": "Ann", "matched_calendar_invitee_email": "ann@example.com"}`), []byte(`{"display_name": `+string(text)+`}`), 1)
			archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "one", "said"), other)
			d := openNotes(t, a)
			_, err = d.Merge(t.Context(), ann, name, "ann@example.com")
			check(t, err)
			_, err = a.Forget(t.Context(), 1, "test")
			check(t, err)
			if all, err := d.Judgements(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("judgements %v, %v", all, err)
			}
		})
	}
}

// TestForgetDuringWrites forgets a meeting while notes and ticks on it are written.
func TestForgetDuringWrites(t *testing.T) {
	const word = "xylophonistquartz"
	a := archivetest.WithMeetings(t, 1)
	d := openNotes(t, a)
	var writers sync.WaitGroup
	begun := make(chan struct{}, 2)
	for range 2 {
		writers.Go(func() {
			begun <- struct{}{}
			for {
				_, err := d.Add(t.Context(), Note{RecordingID: 1, Text: word, Person: ann})
				if err == nil {
					err = d.Tick(t.Context(), ann, Item{RecordingID: 1, Text: word})
				}
				if errors.Is(err, archive.ErrForgotten) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	<-begun
	<-begun
	_, err := a.Forget(t.Context(), 1, "test")
	check(t, err)
	writers.Wait()
	if files := residue.Find(t, word, a.Dir()); files != nil {
		t.Errorf("the note is left in %v", files)
	}
}

// TestRestoreKeepsNotes restores a backup from before a meeting was forgotten: its notes
// do not come back, and the others do.
func TestRestoreKeepsNotes(t *testing.T) {
	const word = "xylophonistquartz"
	ctx, a := t.Context(), archivetest.WithMeetings(t, 2)
	d := openNotes(t, a)
	d.add(t, ann, 1, word, false)
	d.add(t, ann, 2, "kept", true)
	dest, dir := t.TempDir(), t.TempDir()
	_, err := backup.Run(ctx, a, dest, backup.Options{})
	check(t, err)
	_, err = a.Forget(ctx, 1, "test")
	check(t, err)
	_, err = backup.Restore(ctx, backup.RestoreOptions{From: dest, Dir: dir, Logger: zerolog.Nop()})
	check(t, err)
	restored := archivetest.Open(t, dir)
	d = openNotes(t, restored)
	check(t, restored.FinishForgetting(ctx))
	left, err := d.all(ctx, ann)
	expect(t, "notes after the restore", texts(t, left, err), "kept")
	if files := residue.Find(t, word, dir); files != nil {
		t.Errorf("the note is left in %v", files)
	}
}

func TestCheckFindsRemainsAndRepairsThem(t *testing.T) {
	dir := t.TempDir()
	a := archivetest.Open(t, dir)
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "one", "said"), archivetest.Meeting(2, "two", "said"))
	d := openNotes(t, a)
	_, err := a.Forget(t.Context(), 1, "test")
	check(t, err)
	d.add(t, ann, 2, "kept", false)
	archivetest.Damage(t, filepath.Join(dir, Name),
		`INSERT INTO notes (recording_id, at, text, private, person, created_at, changed_at) VALUES (1, -1, 'remains', 0, 1, 0, 0)`)
	for _, repair := range []bool{false, true} {
		damages, err := d.Check(t.Context(), repair)
		if err != nil || len(damages) != 1 || damages[0].Class != archive.DamageForgetting || damages[0].RecordingID != 1 || damages[0].Repaired != repair {
			t.Fatalf("damages %v, %v", damages, err)
		}
	}
	if damages, err := d.Check(t.Context(), false); err != nil || len(damages) != 0 {
		t.Errorf("after the repair: %v, %v", damages, err)
	}
	left, err := d.all(t.Context(), ann)
	expect(t, "left", texts(t, left, err), "kept")
}
