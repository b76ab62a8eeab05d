package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
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

// fullDisk is an output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputThatIsLostIsNoSuccess has commands print to a full disk: a key that is shown once is
// lost then, and a list is not a shorter one.
func TestOutputThatIsLostIsNoSuccess(t *testing.T) {
	dir := t.TempDir()
	perform := func(lost bool, args ...string) (code int, said string) {
		var out, errs strings.Builder
		m := &Main{Stdout: &out, Stderr: &errs}
		if lost {
			m.Stdout = fullDisk{}
		}
		code = m.Run(t.Context(), append(args, "--data", dir))
		return code, errs.String()
	}
	for _, args := range [][]string{{"init"}, {"service", "users", "create", "--user", "ann@acme.example"}} {
		if code, said := perform(false, args...); code != 0 {
			t.Fatalf("%s: exit code %d, %s", args, code, said)
		}
	}
	for _, args := range [][]string{
		{"help"}, {"service", "limits"}, {"service", "users", "list"}, {"service", "keys", "create", "--user", "ann@acme.example"},
		{"service", "keys", "list"}, {"service", "apps", "create", "--name", "a", "--redirect-uri", "https://a.example/back"}, {"service", "finish"},
	} {
		if code, said := perform(true, args...); code != 1 || !strings.Contains(said, "no space left on device") {
			t.Errorf("%s: exit code %d, %q", args, code, said)
		}
	}
}

// TestLostProgressIsNoSuccess has a sync print to a full disk: a script would take no output for
// nothing new.
func TestLostProgressIsNoSuccess(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := start(t, "service", "--data", t.TempDir())
	_, key, _ := strings.Cut(<-upstream.lines, " ")
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(accountConfig(filepath.Join(dir, "data"), upstream.url+servicePath, key)), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "-c", file)
	for _, args := range [][]string{{"sync"}, {"sync", "--json"}} {
		var errs strings.Builder
		m := &Main{Stdout: fullDisk{}, Stderr: &errs}
		if code := m.Run(t.Context(), append(args, "-c", file)); code != 1 || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%s: exit code %d, %q", args, code, errs.String())
		}
	}
}
