package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestVersionWritesNothing asks for the version of a committed tree, of a changed one and of
// one with a tag. The folder .git stays as it is each time.
func TestVersionWritesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	script, err := filepath.Abs("version")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "VERSION=", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("## 1.2.0\n")
	in("git", "init", "-q")
	in("git", "add", ".")
	in("git", "-c", "user.name=Ann", "-c", "user.email=ann@own.example", "commit", "-q", "-m", "all")
	commit := in("git", "rev-parse", "--short", "HEAD")
	longAgo := time.Unix(1_000_000_000, 0)
	checkVersion := func(want string) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, ".git"), longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
		if got := in(script); got != want {
			t.Errorf("version %s, want %s", got, want)
		}
		if info, err := os.Stat(filepath.Join(dir, ".git")); err != nil || !info.ModTime().Equal(longAgo) {
			t.Errorf("version %s: .git was written to", want)
		}
	}
	write("## 1.2.0\n") // again: git has to look into the file
	checkVersion("1.3.0-dev.1+g" + commit)
	write("## 1.2.0\n\nMore.\n")
	checkVersion("1.3.0-dev.1+g" + commit + ".dirty")
	in("git", "tag", "v1.2.0")
	checkVersion("1.2.0-dirty")
	write("## 1.2.0\n")
	checkVersion("1.2.0")
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
