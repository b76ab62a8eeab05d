package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestLogsAreForPeopleOnATerminal runs a daemon on a terminal: its log has lines for people,
// from the start to the orderly end, with the lines of libraries among them. Bleve writes one of a file that it cannot
// remove, which is a folder here. The key of the account is open to others.
func TestLogsAreForPeopleOnATerminal(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	file, key := filepath.Join(dir, "config.toml"), filepath.Join(dir, "ada.key")
	text := "data_dir = \"data\"\n[[accounts]]\nname = \"ada\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\napi_key_file = \"ada.key\"\n"
	for path, content := range map[string]string{file: text, key: "k"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "-c", file)
	run(t, "search", "-c", file, "anything") // which makes the index
	stores, err := filepath.Glob(filepath.Join(dir, "data", "index", "*", "moments", "store"))
	if err == nil && len(stores) == 1 {
		err = os.MkdirAll(filepath.Join(stores[0], "ffff.zap", "full"), 0o700)
	}
	if err != nil || len(stores) != 1 {
		t.Fatal(stores, err)
	}

	shown := showDaemon(t, "-c", file)
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	const begin = `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d `
	for _, line := range lines {
		if !regexp.MustCompile(begin + `(INF|WRN|ERR) `).MatchString(line) {
			t.Errorf("%q is no line for people", line)
		}
	}
	for _, want := range []string{
		`INF serving data_dir=\S+ web=127\.0\.0\.1:\d+$`,
		`WRN a library reports line="got err removing file: ffff\.zap, .*"$`,
		fmt.Sprintf(`WRN others can reach this; chmod it to the mode in private mode=-rw-r--r-- path=%s private=600$`, key),
	} {
		if !regexp.MustCompile(`(?m)` + begin + want).MatchString(shown) {
			t.Errorf("no line is %s in\n%s", want, shown)
		}
	}
	if last := lines[len(lines)-1]; !regexp.MustCompile(begin + `INF stopped$`).MatchString(last) {
		t.Errorf("the last line is %q", last)
	}
}

// showDaemon runs a daemon on a terminal until it serves, ends it by Ctrl-C, and returns the
// text that the terminal showed, without colours.
func showDaemon(t *testing.T, args ...string) string {
	t.Helper()
	master, slave := openTerminal(t)
	cmd := exec.Command("minutebook", append([]string{"serve"}, args...)...)
	cmd.Stderr, cmd.Env = slave, append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close() // the daemon's end alone stays open
	shown, ended := &program{t: t}, make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(shown, master) }() // ends with EIO
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	eventually(t, "the daemon serves", func() (bool, any) { return strings.Contains(shown.log(), "serving"), shown.log() })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, shown.log())
	}
	<-ended
	return regexp.MustCompile("\x1b\\[\\d*m|\r").ReplaceAllString(shown.log(), "")
}
