package layering

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// startsGoroutines finds a start of goroutines: the statement, a group, a database, a
// server.
var startsGoroutines = regexp.MustCompile(`(?m)^\s+go (func\(|[a-z][\w.]*\()|errgroup\.|\.Go\(|httptest\.New(Unstarted|TLS)?Server|archivetest\.|sqlite\.Open`)

var watchesGoroutines = regexp.MustCompile(`testrun\.(Main(OnOneProcessor)?\(|Watched\{)`)

// TestPackagesWatchTheirGoroutines demands of each package that starts goroutines, or
// whose tests do, that its tests fail when one is left.
func TestPackagesWatchTheirGoroutines(t *testing.T) {
	testrun.SkipUnderRace(t)
	const root = "../.."
	starts, watches, tested := map[string]bool{}, map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		starts[dir] = starts[dir] || startsGoroutines.Match(text)
		watches[dir] = watches[dir] || watchesGoroutines.Match(text)
		tested[dir] = tested[dir] || strings.HasSuffix(path, "_test.go")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	watched := 0
	for dir := range starts {
		if watches[dir] {
			watched++
		} else if starts[dir] && tested[dir] && !strings.HasPrefix(dir, root+"/bench/") && dir != root+"/internal/testrun" {
			t.Errorf("%s starts goroutines and its tests do not watch them: call testrun.Main in TestMain", strings.TrimPrefix(dir, root+"/"))
		}
	}
	if watched < 20 {
		t.Errorf("%d packages watch their goroutines: the test looks at the wrong folder", watched)
	}
}
