package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNoPassageStandsTwice looks for many words in a row that stand twice in a document, not far
// from each other, as two changes of the same paragraph leave them. The entries of the change log
// may be worded alike, and so may those of the measurements, which a program writes.
func TestNoPassageStandsTwice(t *testing.T) {
	const many, far = 14, 200 // words
	row := regexp.MustCompile(`(?m)^\s*\|.*$`)
	for _, path := range documentFiles(t) {
		if filepath.Ext(path) != ".md" || slices.Contains([]string{"CHANGELOG.md", "benchmarks.md"}, filepath.Base(path)) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(row.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), ""))
		seen := map[string]int{}
		for i := range len(words) - many + 1 {
			passage := strings.Join(words[i:i+many], " ")
			if before, ok := seen[passage]; ok && i-before < far {
				t.Errorf("%s: stands twice: %s", path, passage)
				break
			}
			seen[passage] = i
		}
	}
}
