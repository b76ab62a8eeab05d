package syncer

import (
	"errors"
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
