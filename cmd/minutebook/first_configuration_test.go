package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

// readComplaints runs a command by a process of its own, with variables, and returns its standard error.
func readComplaints(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	var errs strings.Builder
	cmd := exec.Command("minutebook", args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), environ...), &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("minutebook %s: %v, %s", strings.Join(args, " "), err, errs.String())
	}
	return errs.String()
}

// TestTheFirstConfigurationIsLoadedByReload writes the file that a unit names after the daemon
// has started without it: status tells of it, and reload loads it.
func TestTheFirstConfigurationIsLoadedByReload(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	t.Setenv("MINUTEBOOK_CONFIG", file)
	t.Setenv("MINUTEBOOK_DATA_DIR", filepath.Join(dir, "data"))
	daemon := start(t, "serve", "--create")
	defer daemon.stop()
	if s := runJSON[control.StatusResult](t, "status"); s.Configuration != nil {
		t.Errorf("without a file status has %+v", s.Configuration)
	}
	if err := os.WriteFile(file, []byte("[verify]\ndays = 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := runJSON[control.StatusResult](t, "status"); s.Configuration == nil || !strings.Contains(s.Configuration.Outdated, "`minutebook reload` loads them") {
		t.Errorf("status says of the first file %+v", s.Configuration)
	}
	if said := readComplaints(t, nil, "reload"); said != "" {
		t.Errorf("reload of the first file says %s", said)
	}
	if s := runJSON[control.StatusResult](t, "status"); s.Configuration == nil || s.Configuration.Path != file || s.Configuration.Outdated != "" {
		t.Errorf("status after the reload: %+v", s.Configuration)
	}
}

// TestReloadNamesAFileThatIsGone takes the configuration of a packaged service away.
func TestReloadNamesAFileThatIsGone(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	t.Setenv("MINUTEBOOK_CONFIG", file)
	t.Setenv("MINUTEBOOK_DATA_DIR", filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte("[verify]\ndays = 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := start(t, "serve", "--create")
	defer daemon.stop()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("minutebook", "reload").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "read configuration "+file+": the file is not there any more; put it back") {
		t.Errorf("reload without the file: %v, %s", err, out)
	}
}

// TestReloadNamesAFileThatIsNotLoaded gives reload a file that the daemon does not know.
func TestReloadNamesAFileThatIsNotLoaded(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte("[verify]\ndays = 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := start(t, "serve", "--create", "--data", data)
	defer daemon.stop()
	if said := readComplaints(t, nil, "reload", "--data", data, "-c", file); !strings.Contains(said, file+" do not count") || !strings.Contains(said, "restart it with -c") {
		t.Errorf("reload says %q", said)
	}
}

// TestCommandsNeedNoSecretsOfTheDaemon has a key in the daemon's environment alone, as a unit
// has it: commands ask the daemon, and name the missing key where none answers.
func TestCommandsNeedNoSecretsOfTheDaemon(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte("data_dir = \"data\"\n[[accounts]]\nname = \"ada\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MINUTEBOOK_ACCOUNT_ADA_API_KEY", "k")
	daemon := start(t, "serve", "--create", "-c", file)
	for _, args := range [][]string{{"status"}, {"search", "launch"}, {"user", "list"}, {"reload"}, {"mcp"}} {
		readComplaints(t, []string{"MINUTEBOOK_ACCOUNT_ADA_API_KEY="}, append(args, "-c", file)...)
	}
	daemon.stop()
	for _, name := range []string{"status", "mcp"} {
		cmd := exec.Command("minutebook", name, "-c", file)
		cmd.Env = append(os.Environ(), "MINUTEBOOK_ACCOUNT_ADA_API_KEY=")
		out, err := cmd.CombinedOutput()
		if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 2 || !strings.Contains(string(out), "api_key") {
			t.Errorf("%s without a daemon: %v, %s", name, err, out)
		}
	}
}

// TestTheInstalledConfigurationHasTheInstalledArchive names the file of the installed service
// in each way: its archive is that of the unit, unless the file or the command names another,
// and the unit needs no secrets of systemd.
func TestTheInstalledConfigurationHasTheInstalledArchive(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	data, file := filepath.Join(root, installedData), filepath.Join(root, installedConfig)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	credentials := filepath.Dir(filepath.Join(root, installedCredentials))
	for _, dir := range []string{data, filepath.Dir(file), filepath.Dir(credentials)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// systemd shows a unit without secrets a folder that it may not enter; root may enter any.
	if err := os.WriteFile(credentials, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	for _, c := range []struct {
		text, want string
		args       []string
		environ    []string
	}{
		{"", data, []string{"-c", file}, nil},
		{"", data, []string{"-c", "config.toml"}, nil},
		{"", data, nil, nil},
		{"", data, nil, []string{"MINUTEBOOK_CONFIG=" + file}},
		{"", other, []string{"-c", file, "--data", other}, nil},
		{"", other, []string{"-c", file}, []string{"MINUTEBOOK_DATA_DIR=" + other}},
		{"data_dir = \"" + other + "\"\n", other, []string{"-c", file}, nil},
	} {
		write(c.text + "[verify]\ndays = 9\n")
		var out, errs strings.Builder
		m := &Main{Stdout: &out, Stderr: &errs, Environ: c.environ, root: root}
		if code := m.Run(t.Context(), append([]string{"config", "check"}, c.args...)); code != 0 || !strings.Contains(out.String(), "is in order") {
			t.Errorf("%+v: exit code %d, %s", c, code, errs.String())
		}
		if cfg, err := m.loadConfig(); err != nil || cfg.DataDir != c.want || cfg.Verify.Days != 9 {
			t.Errorf("%+v: %+v, %v", c, cfg, err)
		}
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	write("")
	var errs strings.Builder
	if code := (&Main{Stdout: &errs, Stderr: &errs, root: root}).Run(t.Context(), []string{"config", "check", "-c", file}); code != 2 || !strings.Contains(errs.String(), "data_dir") {
		t.Errorf("without the package's archive: exit code %d, %s", code, errs.String())
	}
}
