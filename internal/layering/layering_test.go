package layering

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rooms is the house from the top down. A room may import those below it.
var rooms = []string{
	"cmd/minutebook", "control", "web", "mcp", "service", "receiver", "sync",
	"search", "archive", "sample", "api", "config", "internal",
}

// peers do not import each other, in neither direction.
var peers = map[string]bool{"receiver": true, "sync": true, "search": true, "service": true}

func TestImportsPointDown(t *testing.T) {
	const root = "../.."
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		from := room(filepath.ToSlash(rel))
		if from == "" || from == "bench" {
			return nil
		}
		seen[from] = true
		return checkFile(t, path, from)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 2 {
		t.Fatalf("walked only %v: the test looks at the wrong folder", seen)
	}
}

func checkFile(t *testing.T, path, from string) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		to, ours := strings.CutPrefix(imported, "minutebook/")
		if !ours {
			continue
		}
		if why := allowed(from, room(to)); why != "" {
			t.Errorf("%s imports %s: %s", path, imported, why)
		}
	}
	return nil
}

// allowed says why room from may not import room to, or nothing.
func allowed(from, to string) string {
	switch {
	case from == to, to == "internal":
		return ""
	case index(to) < 0 || index(from) < 0:
		return "it is no room of the house"
	case from == "api" || from == "config" || from == "internal":
		return from + " imports no room"
	case peers[from] && peers[to]:
		return "these two do not import each other"
	case index(to) < index(from):
		return "imports point down the house"
	}
	return ""
}

func index(name string) int {
	for i, r := range rooms {
		if r == name {
			return i
		}
	}
	return -1
}

// room is the room that a path in the module belongs to, or its first element.
func room(path string) string {
	for _, r := range rooms {
		if path == r || strings.HasPrefix(path, r+"/") {
			return r
		}
	}
	first, _, _ := strings.Cut(path, "/")
	if strings.HasSuffix(first, ".go") {
		return ""
	}
	return first
}

func TestAllowedKnowsTheRules(t *testing.T) {
	tests := []struct {
		from, to string
		ok       bool
	}{
		{"web", "search", true}, {"search", "web", false}, {"service", "search", false},
		{"sync", "receiver", false}, {"archive", "api", true}, {"api", "config", false},
		{"api", "internal", true}, {"internal", "api", false}, {"web", "unknown", false},
	}
	for _, tt := range tests {
		if got := allowed(tt.from, tt.to) == ""; got != tt.ok {
			t.Errorf("allowed(%s, %s) = %v, want %v", tt.from, tt.to, got, tt.ok)
		}
	}
}
