package testrun

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
)

// Build returns the path of a program of another Go module, such as
// "github.com/versity/versitygw/cmd/versitygw". It is taken from PATH, or built once on
// each machine. Build skips the test with -short, and on a machine that cannot get the
// source, unless CI is set.
func Build(t testing.TB, module, command, version string) string {
	t.Helper()
	name := path.Base(command)
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("no place to build %s: %v", name, err)
	}
	dir := filepath.Join(cache, "minutebook-test", name+"-"+version)
	built := filepath.Join(dir, name)
	if _, err := os.Stat(built); err == nil {
		return built
	}
	if testing.Short() {
		t.Skipf("building %s takes minutes", name)
	}
	if out, err := runGo(t, dir, "mod", "download", module+"@"+version); err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("%s is not here, and its source cannot be had: %v\n%s", name, err, out)
		}
		t.Fatalf("get the source of %s: %v\n%s", name, err, out)
	}
	if out, err := runGo(t, dir, "install", command+"@"+version); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return built
}

func runGo(t testing.TB, bin string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	cmd.Dir = t.TempDir() // outside of this module
	return cmd.CombinedOutput()
}
