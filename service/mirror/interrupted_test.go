package mirror

import (
	"context"
	"errors"
	"slices"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestAnInterruptedRefreshLeavesTheMirror reads all meetings again for a caller who goes
// away: the others go on to be answered from the meetings that were there.
func TestAnInterruptedRefreshLeavesTheMirror(t *testing.T) {
	a := archivetest.WithMeetings(t, 3)
	m := New(a, false)
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := m.IDs()
	m.loaded = false // as when it is bloated
	if err := a.PutUsers(t.Context(), archive.LocalAccount, nil); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := m.Refresh(gone); !errors.Is(err, context.Canceled) {
		t.Fatalf("the caller has gone, and the refresh ends with %v", err)
	}
	if got := m.IDs(); len(want) != 3 || !slices.Equal(got, want) {
		t.Errorf("the mirror has %d, want %d", got, want)
	}
	if err := m.Refresh(t.Context()); err != nil || !slices.Equal(m.IDs(), want) {
		t.Errorf("the next refresh finds %d, %v", m.IDs(), err)
	}
}
