package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestUnitsAreValid has systemd's own verifier read the units, where it is installed.
func TestUnitsAreValid(t *testing.T) {
	testrun.SkipUnderRace(t)
	verifier, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	units, err := filepath.Glob("minutebook*.*")
	if err != nil || len(units) != 3 {
		t.Fatal(units, err)
	}
	var paths []string
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, unit)
		content := strings.Replace(string(text), "/usr/bin/minutebook", "/bin/true", 1) // the verifier looks for it
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	out, err := exec.Command(verifier, append([]string{"verify", "--man=no"}, paths...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("%v: %s", err, out)
	}
}
