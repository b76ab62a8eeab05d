package packaging_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/testrun"
)

// modules is a list of a program's modules as CycloneDX.
type modules struct {
	BOMFormat, SpecVersion string
	Components             []struct{ Type, Name, Version string }
}

// names returns name and version of each module but the C library, which no tool of Go sees.
func (m modules) names() (names []string) {
	for _, c := range m.Components {
		if c.Name != "glibc" {
			names = append(names, c.Type+" "+c.Name+" "+c.Version)
		}
	}
	slices.Sort(names)
	return names
}

// compareModules has CycloneDX's own tool list the modules of each program of a release: it
// finds those of the release's list, by the same names.
func compareModules(t *testing.T, dir string) {
	const module = "github.com/CycloneDX/cyclonedx-gomod"
	tool := testrun.Build(t, module, module+"/cmd/cyclonedx-gomod", "v1.10.0")
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("%q, %v", archives, err)
	}
	for _, archive := range archives {
		var ours, theirs modules
		list, err := os.ReadFile(strings.TrimSuffix(archive, ".tar.gz") + ".cdx.json")
		if err == nil {
			err = json.Unmarshal(list, &ours)
		}
		if err != nil {
			t.Fatal(err)
		}
		list, err = exec.Command(tool, "bin", "-json", "-std", unpackProgram(t, archive)).Output()
		if err == nil {
			err = json.Unmarshal(list, &theirs)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ours.BOMFormat != theirs.BOMFormat || ours.SpecVersion != theirs.SpecVersion {
			t.Errorf("%s: the list is %s %s, and that of cyclonedx-gomod %s %s", archive, ours.BOMFormat, ours.SpecVersion, theirs.BOMFormat, theirs.SpecVersion)
		}
		if diff := cmp.Diff(theirs.names(), ours.names()); diff != "" {
			t.Errorf("%s: the list has other modules (+) than cyclonedx-gomod finds (-): %s", archive, diff)
		}
	}
}

// unpackProgram returns the path of the program of an archive.
func unpackProgram(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	command(t, "tar", "-C", dir, "--strip-components=1", "--wildcards", "-xzf", archive, "*/minutebook")
	return filepath.Join(dir, "minutebook")
}
