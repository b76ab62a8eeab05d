package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/diskspace"
	"minutebook/internal/testrun"
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

// TestARepairFromABackupLeavesRoom repairs from the older one of two generations, on a data disk
// without room for a copy of archive.db, and then with room for one.
func TestARepairFromABackupLeavesRoom(t *testing.T) {
	disk, dest := testrun.SmallDisk(t, 64), t.TempDir()
	a := archivetest.Open(t, filepath.Join(disk.Dir, "data"))
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "zebrafish"))
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "first", "said anew"))
	backUp(t, a, dest, Options{})
	archivetest.Damage(t, mainDB(a), `DELETE FROM bodies WHERE revision_id = (SELECT min(id) FROM revisions WHERE part = 'transcript')`)
	r := backUp(t, a, dest, Options{})
	i := slices.IndexFunc(r.Manifest.Files, func(f generation.File) bool { return strings.Contains(f.Path, "/archive.db") })
	need, ballast := r.Manifest.Files[i].PlainSize, filepath.Join(disk.Dir, "ballast")
	repair := func(room int64) (archive.Verified, string) {
		t.Helper()
		free, size, err := diskspace.Read(disk.Dir)
		must(t, err)
		must(t, os.WriteFile(ballast, make([]byte, free-size/20-room), 0o600))
		from, err := a.OpenBackupSource(t.Context(), dest)
		must(t, err)
		v, damages := verify(t, a, archive.VerifyOptions{Repair: true, From: from})
		must(t, errors.Join(from.Close(), os.Remove(ballast)))
		return v, fmt.Sprint(damages)
	}
	if v, damages := repair(need / 2); v.Repaired+v.Lost > 0 || !strings.Contains(damages, "make room there") {
		t.Errorf("without room: %+v: %s", v, damages)
	}
	if v, damages := repair(need * 3 / 2); v.Repaired != 1 || !strings.Contains(damages, "generation-000001") {
		t.Errorf("with room for one: %+v: %s", v, damages)
	}
}

// TestAGenerationStaysUnpackedWhileItHelps repairs several revisions that the newer generation
// lacks, on a data disk with room for a copy of one archive.db. The files of the older generation
// go once it is unpacked.
func TestAGenerationStaysUnpackedWhileItHelps(t *testing.T) {
	disk, dest := testrun.SmallDisk(t, 64), t.TempDir()
	a := archivetest.Open(t, filepath.Join(disk.Dir, "data"))
	const meetings = 4
	for id := range int64(meetings) {
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id+1, "first", fmt.Sprint("zebrafish ", id)))
		archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(id+1, "first", fmt.Sprint("said anew ", id)))
	}
	older := backUp(t, a, dest, Options{})
	archivetest.Damage(t, mainDB(a), `DELETE FROM bodies WHERE revision_id IN (SELECT min(id) FROM revisions WHERE part = 'transcript' GROUP BY recording_id)`)
	r := backUp(t, a, dest, Options{})
	i := slices.IndexFunc(r.Manifest.Files, func(f generation.File) bool { return strings.Contains(f.Path, "/archive.db") })
	free, size, err := diskspace.Read(disk.Dir)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(disk.Dir, "ballast"), make([]byte, free-size/20-r.Manifest.Files[i].PlainSize*3/2), 0o600))
	from, err := a.OpenBackupSource(t.Context(), dest)
	must(t, err)
	defer from.Close()
	v, err := a.Verify(t.Context(), archive.VerifyOptions{Repair: true, From: from}, func(archive.Damage) {
		must(t, os.RemoveAll(filepath.Join(dest, older.Generation)))
	})
	if err != nil || v.Repaired != meetings {
		t.Errorf("%+v, %v", v, err)
	}
}
