package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestASecondProcessNamesTheFirst holds a data directory, as a command without a
// daemon does, and gives commands for it.
func TestASecondProcessNamesTheFirst(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	want := fmt.Sprintf("data directory is in use by process %d; stop it first", os.Getpid())
	for _, args := range [][]string{{"serve"}, {"status"}, {"search", "x"}, {"backup", t.TempDir()}, {"verify"}, {"import", os.Args[0]}} {
		cmd := exec.Command("minutebook", append(args, "--data", dir)...)
		cmd.Env = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
}
