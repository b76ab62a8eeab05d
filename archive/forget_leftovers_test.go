package archive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/archive/media"
)

// TestOpenClearsAwayWhatACrashLeft leaves what an encrypted backup and a
// migration do when they are killed.
func TestOpenClearsAwayWhatACrashLeft(t *testing.T) {
	a := filled(t)
	dir := a.dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	const word = "Xylophonist"
	left := []string{".tmp-backup-archive.db", ".tmp-backup-archive.db-journal", ".tmp-123", "archive.db.migrating", "archive.db.migrating-wal", "service.db.migrating"}
	for _, name := range append(left, "archive.db.before-1", "notes.txt") {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(word), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a = openArchive(t, dir)
	if got := holding(t, dir, word); !slices.Equal(got, []string{"archive.db.before-1", "notes.txt"}) {
		t.Errorf("opened, there are %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, left[3]), []byte(word), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Forget(t.Context(), 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	if got := holding(t, dir, word); !slices.Equal(got, []string{"notes.txt"}) {
		t.Errorf("forgotten, there are %v", got)
	}
}

// TestDamagedRecordingsAreForgottenToo has verify put two damaged recordings
// aside, one of them of two meetings.
func TestDamagedRecordingsAreForgottenToo(t *testing.T) {
	a := newArchive(t)
	for id := int64(1); id <= 3; id++ {
		apply(t, a, observe(t, SourceList, epoch0, meetingJSON(id, "T", "said")))
	}
	alone, shared := withMedia(t, a, 1, "only of one"), withMedia(t, a, 2, "of two")
	withMedia(t, a, 3, "of two")
	for _, b := range []media.Blob{alone, shared} {
		path := media.Path(a.media, b.SHA256)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("damaged "+strings.Repeat("x", int(b.Size))), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	verify(t, a, VerifyOptions{Repair: true})
	if got := holding(t, a.dir, "damaged x"); len(got) != 2 {
		t.Fatalf("aside lie %v; want both", got)
	}
	for id, want := range map[int64][]string{1: {shared.SHA256}, 2: {shared.SHA256}} {
		if _, err := a.Forget(t.Context(), id, "asked for"); err != nil {
			t.Fatal(err)
		}
		if got := holding(t, a.dir, "damaged x"); id == 1 && slices.Contains(got, alone.SHA256) || !slices.Contains(got, want[0]) {
			t.Errorf("meeting %d is forgotten, and aside lie %v", id, got)
		}
	}
	if _, err := a.Forget(t.Context(), 3, "asked for"); err != nil {
		t.Fatal(err)
	}
	if got := holding(t, a.dir, "damaged x"); got != nil {
		t.Errorf("all are forgotten, and aside lie %v", got)
	}
	if marks, err := a.Marks(t.Context(), damagedMark); err != nil || len(marks) != 0 {
		t.Errorf("marks %v, %v", marks, err)
	}
}
