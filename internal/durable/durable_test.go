package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFileReplacesPrivately(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte("a long old content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "new" {
		t.Fatalf("read %q, %v; want new", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk gone")
	err := Write(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v, want the cause", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v; want the old file alone", len(entries), err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Fatalf("read %q, want old", got)
	}
}

func TestMkdirAllRenameRemove(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, "a"), filepath.Join(root, "x", "y")
	for _, dir := range []string{a, b, b} {
		if err := MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(b)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("mode %v, %v; want 0700", info.Mode(), err)
	}
	from, to := filepath.Join(a, "f"), filepath.Join(b, "g")
	if err := WriteFile(from, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(filepath.Join(to, "under-a-file")); err == nil {
		t.Fatal("a directory under a file was made")
	}
	for range 2 {
		if err := Remove(to); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want the file gone", err)
	}
}

// TestCreateReplacesNothing has ten create the same file at once: one does.
func TestCreateReplacesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	results := make(chan error)
	for i := range 10 {
		go func() { results <- Create(path, []byte{byte('0' + i)}) }()
	}
	created := 0
	for range 10 {
		if err := <-results; err == nil {
			created++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if raw, err := os.ReadFile(path); created != 1 || len(raw) != 1 || err != nil {
		t.Errorf("%d created it, it has %q, %v", created, raw, err)
	}
}
