package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileStore holds the file store against what every store promises, and
// against what files promise beside it.
func TestFileStore(t *testing.T) {
	dir := t.TempDir()
	s, err := newFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	storeConformance(t, s)

	blob, err := s.Put(t.Context(), strings.NewReader("read-only"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.path(blob.SHA256))
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("file %v, %v; want mode 0400", info, err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "partial"))
	if err != nil || len(left) != 0 {
		t.Errorf("partial holds %v, %v; want nothing", left, err)
	}
	crashed := filepath.Join(dir, "partial", ".tmp-crashed")
	growing := filepath.Join(dir, "partial", "17")
	for _, path := range []string{crashed, growing} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newFileStore(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(crashed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left is still there: %v", err)
	}
	if _, err := os.Stat(growing); err != nil {
		t.Errorf("an interrupted download is gone: %v", err)
	}
}

// storeConformance is what every Store is held against.
func storeConformance(t *testing.T, s Store) {
	t.Helper()
	ctx := t.Context()
	content := append([]byte("\x00\x00\x00\x18ftypmp42"), bytes.Repeat([]byte("frame after frame "), 10_000)...)
	sum := sha256.Sum256(content)
	want := Blob{hex.EncodeToString(sum[:]), int64(len(content)), "video/mp4"}

	for range 2 { // the second finds it there
		if got, err := s.Put(ctx, bytes.NewReader(content)); err != nil || got != want {
			t.Fatalf("put: %+v, %v; want %+v", got, err, want)
		}
	}
	if got, err := s.Stat(ctx, want.SHA256); err != nil || got != want {
		t.Errorf("stat: %+v, %v; want %+v", got, err, want)
	}
	checkRanges(t, s, want, content)

	path := filepath.Join(t.TempDir(), "fetched")
	if err := os.WriteFile(path, []byte("ID3 a fetched recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	imported, err := s.Import(ctx, path)
	if err != nil || imported.ContentType != "audio/mpeg" {
		t.Fatalf("import: %+v, %v", imported, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an imported file is still at its place: %v", err)
	}
	broken := errors.New("connection reset")
	if _, err := s.Put(ctx, io.MultiReader(strings.NewReader("half of"), failingReader{broken})); !errors.Is(err, broken) {
		t.Errorf("put of what breaks off: %v", err)
	}
	if _, err := s.Put(ctx, strings.NewReader("")); err == nil {
		t.Error("put of nothing was taken for a recording")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Put(cancelled, strings.NewReader("too late")); !errors.Is(err, context.Canceled) {
		t.Errorf("put under a cancelled context: %v", err)
	}
	if got := walked(t, s); len(got) != 2 || got[want.SHA256] != want || got[imported.SHA256] != imported {
		t.Errorf("walk: %v; want the two that were stored whole", got)
	}
	for range 2 {
		if err := s.Delete(ctx, want.SHA256); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	for _, sha := range []string{want.SHA256, strings.Repeat("0", 64), "../../archive.db", ""} {
		if _, err := s.Stat(ctx, sha); !errors.Is(err, ErrNotFound) {
			t.Errorf("stat of %q: %v; want ErrNotFound", sha, err)
		}
		if r, _, err := s.Open(ctx, sha); !errors.Is(err, ErrNotFound) {
			t.Errorf("open of %q: %v, %v; want ErrNotFound", sha, r, err)
		}
	}
	if err := s.Delete(ctx, imported.SHA256); err != nil {
		t.Error(err)
	}
}

func checkRanges(t *testing.T, s Store, blob Blob, content []byte) {
	t.Helper()
	r, got, err := s.Open(t.Context(), blob.SHA256)
	if err != nil || got != blob {
		t.Fatalf("open: %+v, %v", got, err)
	}
	defer r.Close()
	whole, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(whole, content) {
		t.Fatalf("read %d bytes, %v; want what was put", len(whole), err)
	}
	at := make([]byte, 1000)
	if _, err := r.ReadAt(at, 70_000); err != nil || !bytes.Equal(at, content[70_000:71_000]) {
		t.Errorf("read at 70000: %v", err)
	}
	if n, err := r.ReadAt(at, int64(len(content))-10); n != 10 || err != io.EOF {
		t.Errorf("read over the end: %d, %v; want 10, EOF", n, err)
	}
	if _, err := r.Seek(-18, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if tail, err := io.ReadAll(r); err != nil || string(tail) != "frame after frame " {
		t.Errorf("read of the end: %q, %v", tail, err)
	}
}

func walked(t *testing.T, s Store) map[string]Blob {
	t.Helper()
	found := map[string]Blob{}
	if err := s.Walk(t.Context(), func(b Blob) error { found[b.SHA256] = b; return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestSniffing(t *testing.T) {
	for head, want := range map[string]string{
		"\x00\x00\x00\x20ftypM4A isom": "audio/mp4", "\x00\x00\x00\x14ftypqt  ": "video/quicktime",
		"\x00\x00\x00\x20ftypisom": "video/mp4", "\xff\xfb\x90\x44": "audio/mpeg", "\xff\xf1\x50\x80": "audio/aac",
		"\x1a\x45\xdf\xa3": "video/webm", "RIFF\x00\x00\x00\x00WAVE": "audio/wave", "OggS\x00": "application/ogg",
		"fLaC": "audio/flac", "<html>": "text/html; charset=utf-8", "\xff": "text/plain; charset=utf-8",
	} {
		if got := sniffContent([]byte(head)); got != want {
			t.Errorf("%q is %s; want %s", head, got, want)
		}
	}
}

func TestAttachingIsRefusedForWhatIsNotThere(t *testing.T) {
	a := filled(t)
	missing := Blob{SHA256: strings.Repeat("ab", 32)}
	if err := a.AttachMedia(t.Context(), 1, MediaVideo, missing); !errors.Is(err, ErrNotFound) {
		t.Errorf("a blob that is not there: %v", err)
	}
	blob, err := a.Media().Put(t.Context(), strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AttachMedia(t.Context(), 404, MediaVideo, blob); !errors.Is(err, ErrNotFound) {
		t.Errorf("to a meeting that is not there: %v", err)
	}
	head, _ := a.Head(t.Context())
	for range 2 {
		if err := a.AttachMedia(t.Context(), 1, MediaVideo, blob); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := a.Changes(t.Context(), head, 9)
	if err != nil || len(changes) != 1 || changes[0].Kind != ChangeMedia {
		t.Errorf("attached twice: changes %v, %v; want one", changes, err)
	}
	row, err := a.Row(t.Context(), 1)
	if err != nil || !row.HasVideo || row.HasAudio {
		t.Errorf("row %+v, %v", row, err)
	}
}
