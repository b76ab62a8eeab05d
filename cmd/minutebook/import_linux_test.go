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

// TestADaemonReadsWhatACommandIsGiven imports standard input and another open file of the
// command while a daemon runs: the daemon has a standard input of its own.
func TestADaemonReadsWhatACommandIsGiven(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	start(t, "serve", "--create", "--data", dir)
	for number, path := range []string{0: "/dev/stdin", 1: "/dev/fd/0", 2: "/proc/self/fd/0", 3: "/dev/fd/3"} {
		line := strings.NewReader(fmt.Sprintf(`{"recording_id":%d,"title":"Piped"}`, number+1))
		cmd := exec.Command("minutebook", "import", path, "--data", dir)
		if cmd.Stdin = line; number == 3 {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin, cmd.ExtraFiles = nil, []*os.File{r}
			if _, err := line.WriteTo(w); err != nil {
				t.Fatal(err)
			}
			w.Close()
			defer r.Close()
		}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "1 meeting read: 1 new") {
			t.Errorf("%s: %s, %v", path, out, err)
		}
	}
}
