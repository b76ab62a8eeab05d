package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"minutebook/internal/testrun"
)

// TestHangupDoesNotKill sends SIGHUP to every command that runs until it is stopped: the
// log has a line about it, and the command goes on.
func TestHangupDoesNotKill(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, args := range [][]string{
		{"serve", "--create", "--data", t.TempDir()},
		{"service", "--data", t.TempDir()},
		{"demo", "--dir", t.TempDir()},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			p := start(t, args...)
			if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the log has a line about it", func() (bool, any) {
				return strings.Contains(p.log(), "SIGHUP"), p.log()
			})
			resp, err := http.Get(p.url)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			p.stop()
		})
	}
}
