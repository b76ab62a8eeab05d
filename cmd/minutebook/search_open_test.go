package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestSearchOpensTheMoment finds a meeting of a running daemon and opens its page.
func TestSearchOpensTheMoment(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	r := startReloaded(t)
	if got, err := r.deliver(firstSecret, 5); err != nil || got/100 != 2 {
		t.Fatal(got, err)
	}
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho \"$1\" > "+opened+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the moment is found", func() (bool, any) {
		out := run(t, "search", "--links", "launch", "-c", r.config)
		return strings.Contains(out, r.url+"/meetings/5?t=65\n"), out
	})
	if out := run(t, "search", "--links", "title:t", "-c", r.config); !strings.Contains(out, r.url+"/meetings/5\n") {
		t.Errorf("a meeting without a moment: %s", out)
	}
	if out := run(t, "__complete", "show", "-c", r.config, "tit"); !strings.HasPrefix(out, "5\t") || !strings.Contains(out, "title") {
		t.Errorf("completed with %q", out)
	}
	for typed, want := range map[string]string{"tit": "5\n", "": "5\n", "5": "5\n", "9": "\n", "nothing": "\n"} {
		if out := completeInBash(t, "", "minutebook", "show", "-c", r.config, typed); out != want {
			t.Errorf("bash completes %q with %q", typed, out)
		}
	}
	if out := run(t, "__complete", "-c", r.config, "webhook", "replay", ""); !strings.HasPrefix(out, "1\t") || !strings.Contains(out, " ada ") {
		t.Errorf("a delivery is completed with %q", out)
	}
	for query, want := range map[string]string{"launch": "/meetings/5?t=65", "title:t": "/meetings/5"} {
		cmd := exec.Command("minutebook", "search", "--open", query, "-c", r.config)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got, err := os.ReadFile(opened); err != nil || strings.TrimSpace(string(got)) != r.url+want {
			t.Errorf("%s opened %q, %v", query, got, err)
		}
	}
}
