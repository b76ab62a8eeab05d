package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/sqlite"
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

// TestADaemonThatStartsAnswersCommands has another program lock a database for which a starting
// daemon waits: the command is told so, and Ctrl-C ends the daemon.
func TestADaemonThatStartsAnswersCommands(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	start(t, "serve", "--create", "--data", dir).stop()
	other := sqlite.Connect(filepath.Join(dir, "access.db"), "?_txlock=immediate", nil)
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	daemon := exec.Command("minutebook", "serve", "--data", dir)
	daemon.Env, daemon.Stderr = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0"), &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	var client *control.Client
	eventually(t, "the command socket is open", func() (bool, any) {
		client, err = control.Dial(t.Context(), dir)
		return err == nil, err
	})
	defer client.Close()
	if _, err := control.Call[control.StatusResult](t.Context(), client, "status", control.StatusRequest{}, nil); err == nil || !strings.Contains(err.Error(), "still starting") {
		t.Errorf("the command is told %v", err)
	}
	if err := errors.Join(daemon.Process.Signal(syscall.SIGINT), tx.Rollback(), other.Close(), daemon.Wait()); err != nil {
		t.Errorf("on Ctrl-C: %v, %s", err, &log)
	}
	again := start(t, "serve", "--data", dir)
	run(t, "status", "--data", dir)
	again.stop()
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
