package testrun

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
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
	isBuilt := func() bool { _, err := os.Stat(built); return err == nil }
	if isBuilt() {
		return built
	}
	if testing.Short() {
		t.Skipf("building %s takes minutes", name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(dir, "lock")) // tests of other packages wait for this build
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if isBuilt() {
		return built
	}
	if out, err := runGo(t, dir, "mod", "download", module+"@"+version); err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("%s is not here, and its source cannot be had: %v\n%s", name, err, out)
		}
		t.Fatalf("get the source of %s: %v\n%s", name, err, out)
	}
	unfinished := filepath.Join(dir, "unfinished") // go install copies, and a test could start a part
	// Without optimisation of the modules, which are many, it takes two thirds of the time.
	if out, err := runGo(t, unfinished, "install", "-gcflags=github.com/...=-N -l", command+"@"+version); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	if err := os.Rename(filepath.Join(unfinished, name), built); err != nil {
		t.Fatal(err)
	}
	return built
}

func runGo(t testing.TB, bin string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	cmd.Dir = t.TempDir() // outside of this module
	return cmd.CombinedOutput()
}
