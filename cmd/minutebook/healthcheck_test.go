package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestHealthIsThatOfTheDaemon has a daemon that is well, and asks by configurations with
// mistakes; and none, for which every answer is 1: Docker reserves 2.
func TestHealthIsThatOfTheDaemon(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	check := func(args ...string) (int, string) {
		var errs strings.Builder
		m := &Main{Stdout: &errs, Stderr: &errs, Environ: []string{"HOME=" + dir}}
		return m.Run(t.Context(), append([]string{"healthcheck"}, args...)), errs.String()
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	texts := []string{"data_dir = \"data\"\n", "[web\ndata_dir = 'data' # here\n", "data_dir=\"data\"\nnonsense = 5\n[[accounts]]\napi_key_file = \"none\"\n[web]\nlisten = [\n"}
	write(texts[0])
	daemon := start(t, "serve", "--create", "-c", file)
	for _, text := range texts {
		write(text)
		if code, said := check("-c", file); code != 0 {
			t.Errorf("with %q: exit code %d, %s", text, code, said)
		}
	}
	daemon.stop()
	for _, text := range append(texts, "", "data_dir = 5\n") {
		write(text)
		if code, said := check("-c", file); code != 1 || said == "" {
			t.Errorf("no daemon, with %q: exit code %d, %s", text, code, said)
		}
	}
	if code, said := check("-c", file+".none"); code != 1 || !strings.Contains(said, file+".none") {
		t.Errorf("without a file: exit code %d, %s", code, said)
	}
}
