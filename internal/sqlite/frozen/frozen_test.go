package frozen

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"minutebook/internal/testrun"
)

func TestMain(m *testing.M) { testrun.Main(m) }

// TestEveryReleaseIsFrozen: each package with migrations has a file of each release that the
// changelog names.
func TestEveryReleaseIsFrozen(t *testing.T) {
	module := root(t)
	changes, err := os.ReadFile(filepath.Join(module, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	releases := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindAllStringSubmatch(string(changes), -1)
	var databases []string
	err = filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "migrations" {
			databases = append(databases, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(releases) == 0 || len(databases) != len(folders) {
		t.Fatalf("%d releases, databases in %v, %v", len(releases), databases, err)
	}
	for _, folder := range databases {
		for _, release := range releases {
			if _, err := os.Stat(filepath.Join(folder, schemas, release[1]+".sql")); err != nil {
				t.Errorf("a release adds a frozen file of each database, see CONTRIBUTING.md: %v", err)
			}
		}
	}
}
