package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestSetupTriesTheService sets up an archive by the address that `service` prints,
// which is not yet that of its interface.
func TestSetupTriesTheService(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := start(t, "service", "--data", t.TempDir())
	_, key, _ := strings.Cut(<-upstream.lines, " ")
	dir := t.TempDir()
	file, keyFile := filepath.Join(dir, "config.toml"), filepath.Join(dir, "given.key")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(code int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command("minutebook", args...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) {
			t.Errorf("minutebook %s: exit code %d, %v, %s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), err, out)
		}
	}
	write(keyFile, "wrong")
	fails(1, "refuses the key", "setup", "-c", file, "--base-url", upstream.url, "--api-key-file", keyFile)
	fails(1, "does not answer", "setup", "-c", file, "--base-url", "http://127.0.0.1:1", "--api-key-file", keyFile)
	fails(2, "--base-url and --api-key-file are needed", "setup", "-c", file)
	write(keyFile, key)
	run(t, "setup", "-c", file, "--base-url", upstream.url, "--api-key-file", keyFile, "--account", "ada", "--public-url", "https://minutes.example")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), upstream.url+servicePath) || strings.Contains(string(text), key) {
		t.Errorf("the configuration is %s, %v", text, err)
	}
	fails(2, "is there already", "setup", "-c", file, "--base-url", upstream.url, "--api-key-file", keyFile)
	run(t, "sync", "-c", file)

	// An empty archive's wrong address is told by init, and corrected without --moved.
	data := filepath.Join(dir, "other")
	write(file, accountConfig(data, "http://127.0.0.1:1/external/v1", key))
	run(t, "init", "-c", file)
	run(t, "status", "-c", file)
	write(file, accountConfig(data, upstream.url, key))
	fails(2, "write that", "init", "-c", file)
	write(file, accountConfig(data, upstream.url+servicePath, key))
	run(t, "sync", "-c", file)
}

func accountConfig(data, base, key string) string {
	return fmt.Sprintf("data_dir = %q\n[[accounts]]\nname = \"ada\"\nbase_url = %q\napi_key = %q\n", data, base, key)
}
