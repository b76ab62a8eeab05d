package mirror

import (
	"slices"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestImportedMeetingsAreServedWhenAsked has two meetings of the service and one that
// another program recorded, all recorded by one person.
func TestImportedMeetingsAreServedWhenAsked(t *testing.T) {
	a := archivetest.New(t)
	const large = archive.FirstForeignID + archive.ForeignIDs
	for _, id := range []int64{7, archive.FirstForeignID, large} {
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id, "title", "text"))
		if err := a.PutShares(t.Context(), archive.Share{RecordingID: id, Principal: archive.UserPrincipal("ann@acme.example"), Level: archive.ShareStandard}); err != nil {
			t.Fatal(err)
		}
	}
	for imported, want := range map[bool][]int64{false: {large, 7}, true: {large, archive.FirstForeignID, 7}} {
		m := New(a, imported)
		if err := m.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := m.IDs(); !slices.Equal(got, want) || m.Shows(archive.FirstForeignID, "ann@acme.example") != imported {
			t.Errorf("imported %t: %d", imported, got)
		}
	}
}
