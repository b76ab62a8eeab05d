package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/internal/testrun"
)

// TestASecondProcessNamesTheFirst gives commands for a data directory that is in use.
func TestASecondProcessNamesTheFirst(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	inUse(t, dir)
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

// TestServeWaitsForACommand opens a data directory that a command has open, and ends the
// command when the log says that the daemon waits: it begins then.
func TestServeWaitsForACommand(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	a := inUse(t, cfg.DataDir)
	var log endsCommand
	log.end = sync.OnceFunc(func() { log.err = a.Close() })
	app, err := openWhenFree(t.Context(), &cfg, zerolog.New(&log), appOptions{})
	if err != nil || log.err != nil || log.lines != 1 {
		t.Fatalf("%v, %v, %d lines in the log", err, log.err, log.lines)
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
}

// endsCommand is a log that ends a command at the line that says that a daemon waits.
type endsCommand struct {
	end   func()
	err   error
	lines int
}

func (e *endsCommand) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("waiting for the process that has the data directory open")) {
		e.lines++
		e.end()
	}
	return len(line), nil
}

// inUse opens an archive as a command without a daemon does.
func inUse(t *testing.T, dir string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}
