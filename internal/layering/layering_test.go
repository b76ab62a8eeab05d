package layering

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// rooms is the house from the top down. A room may import those below it.
var rooms = []string{
	"cmd/minutebook", "control", "web", "mcp", "service", "receiver", "sync",
	"search", "archive", "sample", "api", "config", "internal",
}

// floors are the packages inside a room from the top down. A package may import
// those on lower floors of its room, and no other of its own floor.
var floors = map[string][][]string{
	"archive": {{"archive/export", "archive/importer", "archive/backup", "archive/archivetest"}, {"archive/roster"}, {"archive/notes"}, {"archive"},
		{"archive/inbox", "archive/media", "archive/merge", "archive/generation", "archive/captions"}},
	"search":  {{"search"}, {"search/query", "search/segment"}, {"search/text"}},
	"service": {{"service"}, {"service/mirror", "service/strict", "service/limit", "service/fault"}},
	"sync":    {{"sync"}, {"sync/download"}},
	"web":     {{"web"}, {"web/accounts", "web/clip", "web/outline", "web/diff", "web/notice", "web/markdown"}, {"web/access"}},
}

// peers do not import each other, in neither direction.
var peers = map[string]bool{"receiver": true, "sync": true, "search": true, "service": true}

func TestImportsPointDown(t *testing.T) {
	testrun.SkipUnderRace(t)
	seen := map[string]bool{}
	for _, path := range sources(t) {
		if from := roomOf(path); from != "" && from != "bench" {
			seen[from] = true
			if err := checkFile(t, filepath.Join(root, path), filepath.ToSlash(filepath.Dir(path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) < 2 {
		t.Fatalf("walked only %v: the test looks at the wrong folder", seen)
	}
}

const root = "../.."

// sources returns the paths of the module's Go files, below its root and without tests.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			path, err = filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil || len(paths) < 400 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	return paths
}

// checkFile checks the imports of a file in the package from.
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
		to, isOwn := strings.CutPrefix(imported, "minutebook/")
		if !isOwn {
			continue
		}
		if why := reasonForbidden(from, to); why != "" {
			t.Errorf("%s imports %s: %s", path, imported, why)
		}
	}
	return nil
}

// reasonForbidden returns the reason why package from may not import package to, or "".
func reasonForbidden(from, to string) string {
	fromRoom, toRoom := roomOf(from), roomOf(to)
	switch {
	case fromRoom == toRoom:
		return forbiddenInside(fromRoom, from, to)
	case toRoom == "internal":
		return ""
	case index(toRoom) < 0 || index(fromRoom) < 0:
		return "it is no room of the house"
	case fromRoom == "api" || fromRoom == "config" || fromRoom == "internal":
		return fromRoom + " imports no room"
	case peers[fromRoom] && peers[toRoom]:
		return "these two do not import each other"
	case index(toRoom) < index(fromRoom):
		return "imports point down the house"
	}
	return ""
}

// forbiddenInside is forbidden for two packages of one room.
func forbiddenInside(room, from, to string) string {
	order, ok := floors[room]
	if !ok || from == to {
		return ""
	}
	above, below := floorOf(order, from), floorOf(order, to)
	switch {
	case above < 0 || below < 0:
		return "the floors of " + room + " do not name both packages"
	case below <= above:
		return "imports point down the floors of " + room
	}
	return ""
}

func floorOf(order [][]string, name string) int {
	return slices.IndexFunc(order, func(level []string) bool { return slices.Contains(level, name) })
}

func index(room string) int { return slices.Index(rooms, room) }

// roomOf returns the room that a path in the module belongs to, or its first element.
func roomOf(path string) string {
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

// maxFiles bounds the files of a folder, tests left out: its listing is its plan.
const maxFiles = 52

func TestFoldersAreListedAtAGlance(t *testing.T) {
	testrun.SkipUnderRace(t)
	files := map[string]int{}
	for _, path := range sources(t) {
		files[filepath.Dir(path)]++
	}
	for folder, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files; join some, or make a package of those that belong together", folder, n)
		}
	}
}

// TestNoDirectoryIsAPattern: filepath.Glob finds nothing in a directory whose path has a bracket.
func TestNoDirectoryIsAPattern(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, path := range sources(t) {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(source, []byte("filepath.Glob(")) {
			t.Errorf("%s calls filepath.Glob: call fs.Glob with os.DirFS of the directory", path)
		}
	}
}

func TestForbiddenKnowsTheRules(t *testing.T) {
	testrun.SkipUnderRace(t)
	tests := []struct {
		from, to string
		ok       bool
	}{
		{"web", "search", true}, {"search", "web", false}, {"service", "search", false},
		{"sync", "receiver", false}, {"archive", "api", true}, {"api", "config", false},
		{"api", "internal/durable", true}, {"internal/durable", "api", false}, {"web", "unknown", false},
		{"archive/export", "archive", true}, {"archive", "archive/export", false}, {"archive", "archive/merge", true},
		{"archive/inbox", "archive/media", false}, {"archive/backup", "archive/export", false}, {"archive/merge", "api", true},
		{"search", "archive/merge", true}, {"archive", "archive/unknown", false}, {"sync/download", "service/limit", false},
	}
	for _, tt := range tests {
		if got := reasonForbidden(tt.from, tt.to) == ""; got != tt.ok {
			t.Errorf("%s may import %s: %v, want %v", tt.from, tt.to, got, tt.ok)
		}
	}
}
