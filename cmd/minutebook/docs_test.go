package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"minutebook/internal/testrun"
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

// setCode matches where the program sets an exit code.
var setCode = regexp.MustCompile(`(?:ExitCode: |Code +?= |exit\w+ += )(\d+)`)

// TestExitCodesAreDocumented looks for each exit code of the sources in the help, in the man page
// and in the reference.
func TestExitCodesAreDocumented(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	man := t.TempDir()
	run(t, "docs", "--man", man)
	page, err := os.ReadFile(filepath.Join(man, "minutebook.1"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"the help": run(t, "help"), "the reference": run(t, "docs"), "the man page": strings.ReplaceAll(string(page), `\-`, "-")}
	for name, text := range texts {
		for _, c := range exitCodes {
			if strings.Count(text, c.meaning) != 1 {
				t.Errorf("%s does not have %q once", name, c.meaning)
			}
		}
	}
	if sub := run(t, "help", "search"); strings.Contains(sub, exitCodes[0].meaning) {
		t.Error("the help of each command has all exit codes")
	}
	seen := 0
	for _, dir := range []string{".", "../../control", "../../archive"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range setCode.FindAllSubmatch(source, -1) {
				seen++
				code, _ := strconv.Atoi(string(found[1]))
				if !slices.ContainsFunc(exitCodes, func(c exitCode) bool { return c.from <= code && code <= c.to }) {
					t.Errorf("%s: %s: the table does not have it", file, found[0])
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d exit codes are found", seen)
	}
}
