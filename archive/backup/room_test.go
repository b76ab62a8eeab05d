package backup

import (
	"os"
	"strings"
	"testing"

	"filippo.io/age"

	"minutebook/archive/archivetest"
	"minutebook/internal/diskspace"
)

// TestACopyThatFillsTheDataDiskIsNotMade makes a database larger than the room on its disk, as an
// empty rest at its end. An encrypted backup has a copy of it in the data directory.
func TestACopyThatFillsTheDataDiskIsNotMade(t *testing.T) {
	a := archivetest.WithMeetings(t, 1)
	id, err := age.GenerateX25519Identity()
	must(t, err)
	free, _, err := diskspace.Read(a.Dir())
	must(t, err)
	if err := os.Truncate(a.Inbox().Path(), free+1<<20); err != nil {
		t.Skip("no sparse file can be made here: ", err)
	}
	_, err = Run(t.Context(), a, t.TempDir(), Options{Recipients: []age.Recipient{id.Recipient()}})
	if err == nil || !strings.Contains(err.Error(), "copy inbox.db: a copy of the databases needs") {
		t.Errorf("backed up: %v", err)
	}
}
