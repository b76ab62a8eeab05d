package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestASecondProcessNamesTheFirst holds a data directory, as a command without a
// daemon does, and gives commands for it.
func TestASecondProcessNamesTheFirst(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
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

// TestServeWaitsForACommand starts a daemon while a command has the data directory open:
// the daemon begins when the command has ended.
func TestServeWaitsForACommand(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		time.Sleep(time.Second) // the daemon has met the lock
		ended <- a.Close()
	}()
	p := start(t, "serve", "--data", dir)
	if err := <-ended; err != nil || !strings.Contains(p.log(), "waiting for the process that has the data directory open") {
		t.Errorf("%v, log: %s", err, p.log())
	}
	p.stop()
}
