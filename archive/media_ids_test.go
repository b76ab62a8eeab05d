package archive

import (
	"math"
	"slices"
	"testing"
)

// Meetings that another program recorded have no recording at the service. The ids above theirs are
// the service's, as those below are.
func TestRecordingsOfEveryIDOfTheServiceAreFetched(t *testing.T) {
	a := newArchive(t)
	const last = FirstForeignID + ForeignIDs - 1
	ids := []int64{1, FirstForeignID - 1, FirstForeignID, last, last + 1, 1<<53 + 1, math.MaxInt64}
	apply(t, a, listObservations("ann", "", 1, ids...)...)
	if _, err := a.WantDownloads(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		isTheirs := !slices.Contains([]int64{FirstForeignID, last}, id)
		_, err := a.DownloadOf(t.Context(), id)
		if isWanted := err == nil; isWanted != isTheirs || IsForeignID(id) == isTheirs {
			t.Errorf("the recording of %d is wanted: %v, %v", id, isWanted, err)
		}
		if ok, err := a.RetryDownload(t.Context(), id); ok != isTheirs || err != nil {
			t.Errorf("the recording of %d is tried again: %v, %v", id, ok, err)
		}
	}
}
