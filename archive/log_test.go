package archive

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
)

// A commit is visible to readers before the head in memory moves.
func TestChangesEndAtTheHead(t *testing.T) {
	a := newArchive(t)
	head := apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "x"))).Position
	commit := func() { // as change does, up to where it moves the head
		t.Helper()
		err := a.db.WriteTx(t.Context(), func(tx *sql.Tx) error { return logChange(t.Context(), tx, 1, ChangeMedia, "", epoch0) })
		if err != nil {
			t.Fatal(err)
		}
	}
	commit()
	for _, after := range []Position{{}, head} {
		changes, err := a.Changes(t.Context(), after, 100)
		if n := len(changes); err != nil || n > 0 && changes[n-1].Seq > head.Seq {
			t.Errorf("changes after %v: %+v, %v; the head is %v", after, changes, err, head)
		}
	}
	if at, err := a.Written(t.Context()); err != nil || at != (Position{head.Epoch, head.Seq + 1}) {
		t.Errorf("written up to %v, %v", at, err)
	}
	a.head.advance(head.Seq + 1)
	if changes, err := a.Changes(t.Context(), head, 100); err != nil || len(changes) != 1 {
		t.Errorf("once the head has moved: %+v, %v; want one", changes, err)
	}
	_, err := a.Changes(t.Context(), Position{head.Epoch, 700}, 1)
	if !errors.Is(err, ErrForeignEpoch) || !strings.Contains(err.Error(), "after change 700 of") || !strings.Contains(err.Error(), "ends at change 6 of") {
		t.Errorf("beyond the log: %v", err)
	}
}

// Followers never stand beyond the head while the archive is written to, nor does the head
// stand beyond the rows: a follower that reads none there would pass them over.
func TestFollowersKeepTheirPlace(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for at := (Position{}); ; {
			select {
			case <-done:
				return
			default:
			}
			head, _ := a.Head(t.Context())
			if rows, err := a.Written(t.Context()); err != nil || rows.Seq < head.Seq {
				t.Errorf("the head is at %v, and its rows at %v, %v", head, rows, err)
				return
			}
			changes, err := a.Changes(t.Context(), at, 100)
			if err != nil {
				t.Error(err)
				return
			}
			if len(changes) > 0 {
				at = Position{head.Epoch, changes[len(changes)-1].Seq}
			}
		}
	})
	text := make([]byte, 30<<10)
	for i := range text {
		text[i] = "words "[i%6]
	}
	for id := range int64(60) {
		apply(t, a, observe(t, SourceList, epoch0, meetingJSON(id+1, "T", string(text))))
	}
	close(done)
	all.Wait()
}
