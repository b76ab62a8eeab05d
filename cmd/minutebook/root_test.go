package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyAMissingConfigurationIsNone names a configuration by its variable beside a data
// directory, as the unit and the container do: without the file the environment serves, and a
// file that cannot be reached is a mistake.
func TestOnlyAMissingConfigurationIsNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"none/config.toml": 0, "file/config.toml": 2, strings.Repeat("x", 300): 2} {
		var out, errs strings.Builder
		path = filepath.Join(dir, path)
		m := &Main{Stdout: &out, Stderr: &errs, Environ: []string{"MINUTEBOOK_CONFIG=" + path, "MINUTEBOOK_DATA_DIR=" + dir}}
		if code := m.Run(t.Context(), []string{"config", "show"}); code != want || want == 2 && !strings.Contains(errs.String(), path) {
			t.Errorf("%s: exit code %d, %s", path, code, errs.String())
		}
	}
}
