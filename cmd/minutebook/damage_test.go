package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// TestADamagedDatabaseIsNamedByEveryCommand damages databases of an archive in
// several ways. verify ends with the code of a damaged database, every command
// points to restore, and serve makes no new archive.
func TestADamagedDatabaseIsNamedByEveryCommand(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir string) error{
		"malformed": func(t *testing.T, dir string) error { return scribble(filepath.Join(dir, "archive.db"), 4096) },
		"header":    func(t *testing.T, dir string) error { return scribble(filepath.Join(dir, "archive.db"), 0) },
		"emptied":   func(t *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "archive.db"), 0) },
		"cut short": func(t *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "archive.db"), 8192) },
		"no inbox":  func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "inbox.db")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fillArchive(t, dir)
			if err := damage(t, dir); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"verify"}, {"verify", "--repair"}, {"backup", t.TempDir()}, {"serve", "--create"}} {
				cmd := exec.CommandContext(t.Context(), "minutebook", append(args, "--data", dir)...)
				cmd.Env = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0")
				out, _ := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != 10 || !strings.Contains(string(out), "minutebook restore") {
					t.Errorf("%v: exit code %d\n%s", args, code, out)
				}
			}
		})
	}
}

// fillArchive makes an archive of some meetings.
func fillArchive(t *testing.T, dir string) {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var batch []archive.Observation
	for id := range 40 {
		raw := fmt.Appendf(nil, `{"recording_id":%d,"title":"T","transcript":[{"speaker":{"display_name":"A"},"text":"words of %d","timestamp":"00:00:01"}]}`, id+1, id)
		o, err := archive.FromMeeting("main", archive.SourceList, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), raw)
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, o)
	}
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// scribble overwrites two pages of a file.
func scribble(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(strings.Repeat("\xee", 8192)), at)
	return err
}
