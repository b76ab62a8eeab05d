package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// documentedBlock returns the block of a language that follows a text of a page in docs.
func documentedBlock(t *testing.T, page, text, language string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), text)
	_, rest, begun := strings.Cut(rest, "```"+language+"\n")
	block, _, ended := strings.Cut(rest, "```")
	if !found || !begun || !ended {
		t.Fatalf("docs/%s has no block of %q after %q", page, language, text)
	}
	return block
}

// shell runs the lines of a document, and returns their output.
func shell(t *testing.T, lines string) string {
	t.Helper()
	out, err := exec.Command("bash", "-ec", lines).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", lines, err, out)
	}
	return string(out)
}
