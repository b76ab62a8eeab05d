package notes

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

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
