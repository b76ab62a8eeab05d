package notes

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestNoChangeOfANoteIsLost changes a note from windows that show it as it was.
func TestNoChangeOfANoteIsLost(t *testing.T) {
	d := openNotes(t, archivetest.WithMeetings(t, 1))
	ctx := t.Context()
	n, err := d.Add(ctx, Note{RecordingID: 1, At: -1, Text: "First.", Person: ann})
	check(t, err)
	var g errgroup.Group
	var lost atomic.Int64
	for i := range 8 {
		g.Go(func() error {
			err := d.Change(ctx, ann, n.ID, fmt.Sprint("Window ", i), false, n.ChangedAt)
			if errors.Is(err, ErrChanged) {
				lost.Add(1)
				return nil
			}
			return err
		})
	}
	check(t, g.Wait())
	expect(t, "refused windows", lost.Load(), int64(7))
	now, err := d.Note(ctx, ann, n.ID)
	check(t, err)
	if !now.ChangedAt.After(n.ChangedAt) {
		t.Errorf("changed at %v, as before the change", now.ChangedAt)
	}
	check(t, d.Change(ctx, ann, n.ID, now.Text, false, n.ChangedAt)) // sent again, since no answer came
	check(t, d.Change(ctx, ann, n.ID, "Whatever it was.", false, time.Time{}))
}

// TestVerifyBetweenNotes checks the archive, deletes a note, and checks it again. The
// connection of the first check remembers the words' index as it was.
func TestVerifyBetweenNotes(t *testing.T) {
	a := archivetest.WithMeetings(t, 1)
	d := openNotes(t, a)
	ctx := t.Context()
	n, err := d.Add(ctx, Note{RecordingID: 1, At: -1, Text: "First.", Person: ann})
	check(t, err)
	verify := func() {
		t.Helper()
		_, err := a.Verify(ctx, archive.VerifyOptions{}, func(d archive.Damage) {
			if d.Class == archive.DamageDatabase {
				t.Error(d)
			}
		})
		check(t, err)
	}
	verify()
	check(t, d.Delete(ctx, ann, n.ID, n.ChangedAt))
	verify()
}
