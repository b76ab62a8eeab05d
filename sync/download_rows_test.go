package syncer

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestWantedRecordingsAreReadForManyAtATime takes recordings from the queue, none of which
// can be started by anybody: as in an archive without accounts. To read all that are wanted
// for each of them would take a processor for minutes.
func TestWantedRecordingsAreReadForManyAtATime(t *testing.T) {
	s, _ := testLoader(t, newMediaHost(t, 1), true)
	l, now := newDownloader(s), s.now()
	want := func(id int64) {
		t.Helper()
		archivetest.Apply(t, s.archive, now, archivetest.Meeting(id, "A meeting", "Words"))
		if _, err := s.archive.WantDownloads(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for id := int64(101); id <= 130; id++ {
		want(id)
	}
	seen, read := map[int64]bool{}, time.Time{}
	for i := range 20 {
		row, err := l.nextWanted(t.Context(), now.Add(time.Duration(i)*time.Second), seen)
		if err != nil || seen[row.RecordingID] {
			t.Fatal(row.RecordingID, err)
		}
		if seen[row.RecordingID] = true; i > 0 && !l.queue.read.Equal(read) {
			t.Fatalf("the queue is read again for recording %d", i)
		}
		read = l.queue.read
	}
	want(200)
	l.wakeForChange()
	for _, at := range []time.Duration{21 * time.Second, 3 * time.Minute} {
		for {
			row, err := l.nextWanted(t.Context(), now.Add(at), seen)
			if errors.Is(err, archive.ErrNotFound) {
				break
			}
			if err != nil || seen[row.RecordingID] {
				t.Fatal(row.RecordingID, err)
			}
			seen[row.RecordingID] = true
		}
		if !seen[200] || len(seen) < 31 {
			t.Fatalf("%d recordings came", len(seen))
		}
	}
}

// A recording waits for its turn with the row that was read before: whom it is refused to, and
// whether its meeting is still here, is read when its turn comes.
func TestARequestKnowsTheRefusalsWhenItsTurnComes(t *testing.T) {
	ctx := t.Context()
	s, task := testLoader(t, newMediaHost(t, 1), true)
	task.row.State = archive.DownloadWanted
	if err := s.archive.SaveRefusal(ctx, task.row, "a", false, archive.Position{Seq: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	task.row.RefusedBy = []string{"a"}
	if err := s.archive.EndUnfound(ctx, 7); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second) // nobody answers
	defer cancel()
	if err := s.downloads.advance(short, task); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is not asked for: %v", err)
	}
	if _, err := s.archive.Forget(ctx, 7, "a test"); err != nil {
		t.Fatal(err)
	}
	if err := s.downloads.advance(ctx, task); err != nil {
		t.Errorf("a forgotten meeting: %v", err)
	}
	if open, err := s.archive.Failures(ctx, true); err != nil || len(open) > 0 {
		t.Errorf("failures of a forgotten meeting: %+v, %v", open, err)
	}
}
