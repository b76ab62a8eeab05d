package media

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFileStoreKeepsFilesPrivate checks the promises of files beside those of
// every store.
func TestFileStoreKeepsFilesPrivate(t *testing.T) {
	dir := t.TempDir()
	s := openFiles(dir, dir)
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
	if err := Sweep(t.Context(), openFiles(dir, dir), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(crashed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the crash's file is still there: %v", err)
	}
	if _, err := os.Stat(growing); err != nil {
		t.Errorf("an interrupted download is gone: %v", err)
	}
}

// A file that could not be copied to the store stays as it was, so that whoever fetched it
// can open it for writing and try again.
func TestAnImportIntoAnotherFileSystemIsTriedAgain(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, dir := range []string{"/dev/shm", "/var/tmp"} {
		if device(t, from) != device(t, to) {
			break
		}
		var err error
		if to, err = os.MkdirTemp(dir, "minutebook-test-*"); err != nil {
			t.Skip("no folder can be made on another file system: ", err)
		}
		t.Cleanup(func() { os.RemoveAll(to) })
	}
	if device(t, from) == device(t, to) {
		t.Skip("there is one file system only")
	}
	s, path := openFiles(to, to), filepath.Join(from, "17")
	if err := os.WriteFile(path, []byte("moving pictures"), 0o600); err != nil {
		t.Fatal(err)
	}
	inTheWay := s.path(fmt.Sprintf("%x", sha256.Sum256([]byte("moving pictures"))))
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), path); err == nil {
		t.Fatal("it was imported over a folder")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 15 {
		t.Errorf("after the failure: %v, %v; want mode 0600", info, err)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	blob, err := s.Import(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.path(blob.SHA256)); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("the blob: %v, %v; want mode 0400", info, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// device returns the file system that a file is on.
func device(t *testing.T, path string) any {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Dev
}

// A walk passes over blobs that are deleted while it goes on, as by a forget beside it.
func TestAWalkGoesOnAfterDeletedBlobs(t *testing.T) {
	dir := t.TempDir()
	s := openFiles(dir, dir)
	var together []Blob // in one folder, which a walk lists before it looks at the files
	for n := 0; len(together) < 3; n++ {
		content := strconv.Itoa(n)
		if sum := sha256.Sum256([]byte(content)); sum[0] != 0 {
			continue
		}
		blob, err := s.Put(t.Context(), strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		together = append(together, blob)
	}
	var walked []Blob
	err := s.Walk(t.Context(), func(b Blob) error {
		walked = append(walked, b)
		for _, other := range together {
			if other != b {
				if err := s.Delete(t.Context(), other.SHA256); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || len(walked) != 1 {
		t.Errorf("walked %v: %v; want one blob, and no failure over the deleted ones", walked, err)
	}
}

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
