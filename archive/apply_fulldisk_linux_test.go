package archive

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestFullDisk fills a small file system: writing fails and says why, nothing is
// half there, and with room again everything goes on.
func TestFullDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 6)
	a := openArchive(t, filepath.Join(disk.Dir, "data"))
	n := 0
	for ; n < 2000; n++ {
		if n == 20 {
			disk.Fill()
		}
		batch, mark := batchOf(n)
		if _, err := a.Apply(t.Context(), batch, mark); err != nil {
			if !errors.Is(err, sqlite.ErrDiskFull) {
				t.Fatalf("apply on a full disk: %v; want ErrDiskFull", err)
			}
			break
		}
	}
	cursor, err := a.Mark(t.Context(), "cursor")
	if err != nil || string(cursor) != strconv.Itoa(n-1) {
		t.Fatalf("cursor %q, %v; want %d", cursor, err, n-1)
	}
	if _, err := a.Media().Put(t.Context(), strings.NewReader(strings.Repeat("recording", 1<<20))); !errors.Is(err, sqlite.ErrDiskFull) {
		t.Fatalf("storing a recording on a full disk: %v; want ErrDiskFull", err)
	}
	left, err := filepath.Glob(filepath.Join(a.dir, "media", "partial", "*"))
	if err != nil || len(left) != 0 {
		t.Fatalf("the recording left %v, %v", left, err)
	}
	disk.Clear()
	batch, mark := batchOf(n)
	if _, err := a.Apply(t.Context(), batch, mark); err != nil {
		t.Fatalf("apply with room again: %v", err)
	}
	if _, damages := verify(t, a, VerifyOptions{}); damages != nil {
		t.Fatal(damages)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
