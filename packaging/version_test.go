package packaging_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestVersionFollowsReleases has the version of a tree after a release sort above that
// release, by semver and so by package managers, and `make build` give it to the program.
func TestVersionFollowsReleases(t *testing.T) {
	testrun.SkipUnderRace(t)
	changes, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)$`).FindStringSubmatch(string(changes))
	if newest == nil {
		t.Fatal("CHANGELOG.md has no release")
	}
	version := strings.TrimSpace(inSource(t, "packaging/version"))
	if regexp.MustCompile(`^\d+\.\d+\.\d+-dev`).MatchString(version) && slices.Compare(versionNumbers(t, version), versionNumbers(t, newest[1])) <= 0 {
		t.Errorf("%s comes before the release %s", version, newest[1])
	}
	if out := inSource(t, "make", "-n", "build"); !strings.Contains(out, "main.version="+version+`"`) {
		t.Errorf("make build does not give the program the version %s: %s", version, out)
	}
}

// versionNumbers returns the three numbers at the beginning of a version.
func versionNumbers(t *testing.T, version string) (numbers []int) {
	t.Helper()
	core, _, _ := strings.Cut(version, "-")
	for part := range strings.SplitSeq(core, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// inSource returns the output of a program in the folder of the source, without the lines
// of a make around the tests.
func inSource(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "VERSION=", "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}
