package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestFullDisk fills a small file system: writing fails and says why, nothing is
// half there, and with room again everything goes on.
func TestFullDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openArchive(t, filepath.Join(dir, "data"))
	n := 0
	for ; n < 2000; n++ {
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
	if err := os.Remove(ballast); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
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
