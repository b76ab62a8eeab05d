package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestReferenceIsUpToDate compares docs/cli.md with the commands.
func TestReferenceIsUpToDate(t *testing.T) {
	var out bytes.Buffer
	m := &Main{Stdout: &out, Stderr: os.Stderr}
	if code := m.Run(t.Context(), []string{"docs"}); code != 0 {
		t.Fatal("exit code", code)
	}
	written, err := os.ReadFile("../../docs/cli.md")
	if err != nil || !bytes.Equal(written, out.Bytes()) {
		t.Errorf("docs/cli.md is not of these commands (%v): go run ./cmd/minutebook docs > docs/cli.md", err)
	}
	dir := t.TempDir()
	if code := m.Run(t.Context(), []string{"docs", "--man", dir}); code != 0 {
		t.Fatal("exit code", code)
	}
	if pages, err := filepath.Glob(filepath.Join(dir, "minutebook-*.1")); err != nil || len(pages) < 20 {
		t.Errorf("%d man pages, %v", len(pages), err)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "minutebook-import.1")); err != nil || !bytes.Contains(page, []byte(`("Name <address>")`)) {
		t.Errorf("the page of import says of --owner: %s, %v", page, err)
	}
}
