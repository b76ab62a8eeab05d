package archive

import (
	"slices"
	"testing"
	"time"
)

// listed is a meeting as a list query of an account showed it.
func listed(account, query string, hour int, ids ...int64) []Observation {
	var batch []Observation
	for _, id := range ids {
		batch = append(batch, Observation{Account: account, Query: query, Source: SourceList, RecordingID: id,
			At: epoch0.Add(time.Duration(hour) * time.Hour)})
	}
	return batch
}

// TestGoneIsWhatNoQueryOfAnyAccountSees follows meetings through walks.
func TestGoneIsWhatNoQueryOfAnyAccountSees(t *testing.T) {
	a := newArchive(t)
	at := func(hour int) time.Time { return epoch0.Add(time.Duration(hour) * time.Hour) }
	walk := func(account, query string, hour int, want ...int64) {
		t.Helper()
		gone, err := a.CompleteWalk(t.Context(), account, query, at(hour))
		slices.Sort(gone)
		if err != nil || !slices.Equal(gone, want) {
			t.Fatalf("walk of %q by %s at hour %d: gone %v, %v; want %v", query, account, hour, gone, err, want)
		}
	}
	isGone := func(id int64, want bool) {
		t.Helper()
		row, err := a.Row(t.Context(), id)
		if err != nil || row.Gone != want {
			t.Fatalf("meeting %d: gone %t, %v; want %t", id, row.Gone, err, want)
		}
	}
	apply(t, a, listed("ann", "", 1, 1, 2, 3)...)
	apply(t, a, listed("bob", "", 1, 2)...)
	apply(t, a, listed("ann", "teams:Sales", 1, 3)...)
	apply(t, a, observe(t, SourceWebhook, at(1), meetingJSON(9, "T", "delivered, never listed")))

	walk("ann", "", 1)                       // it saw all of them
	apply(t, a, listed("ann", "", 5)...)     // nothing is listed any more
	walk("ann", "", 5, 1)                    // 2 is bob's too, 3 is seen by another query, 9 was never listed
	isGone(1, true)                          //
	walk("bob", "", 4, 2)                    // now no one sees 2
	walk("ann", "teams:Sales", 6, 3)         //
	isGone(9, false)                         //
	walk("ann", "", 3)                       // a walk older than the last one says nothing
	walk("ann", "", 7)                       // gone once is not gone again
	apply(t, a, listed("bob", "", 2, 2)...)  // an old page, applied late, does not bring it back
	isGone(2, true)                          //
	apply(t, a, listed("carl", "", 8, 1)...) // someone else sees it
	isGone(1, false)
	apply(t, a, listed("bob", "", 8, 2)...)
	isGone(2, false)

	rows, err := a.List(t.Context(), ListQuery{Viewer: Viewer{All: true}})
	if err != nil || len(rows) != 3 {
		t.Fatalf("listed %d, %v; want those not gone", len(rows), err)
	}
	if rows, err = a.List(t.Context(), ListQuery{Viewer: Viewer{All: true}, IncludeGone: true}); err != nil || len(rows) != 4 {
		t.Fatalf("listed %d, %v; want all", len(rows), err)
	}
	last, err := a.LastWalk(t.Context(), "ann", "")
	if err != nil || !last.Equal(at(7)) {
		t.Fatalf("last walk %v, %v", last, err)
	}
	changes, err := a.Changes(t.Context(), Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, c := range changes {
		if c.Kind == ChangeGone {
			told++
		}
	}
	if told != 5 {
		t.Errorf("followers were told of going and coming back %d times; want 5", told)
	}
}
