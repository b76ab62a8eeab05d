package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnUpgradeThatDoesNotStartIsInstalled runs the script after an upgrade whose new
// version refuses the configuration: the package manager is told of no failure, since it
// would leave the package half installed, and the person is.
func TestAnUpgradeThatDoesNotStartIsInstalled(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("after-install")
	if err != nil || !strings.Contains(string(script), "/run/systemd/system") {
		t.Fatalf("%s, %v", script, err)
	}
	for name, text := range map[string]string{
		"script":           strings.ReplaceAll(string(script), "/run/systemd/system", dir),
		"systemd-sysusers": "#!/bin/sh\n",
		"systemctl":        "#!/bin/sh\ntest \"$1\" != try-restart\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", filepath.Join(dir, "script"), "configure", "0.8.0")
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "minutebook config check") {
		t.Errorf("%v: %s", err, out)
	}
}
