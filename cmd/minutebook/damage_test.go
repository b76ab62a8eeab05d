package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestADamagedDatabaseIsNamedByEveryCommand damages databases of an archive in
// several ways. verify ends with the code of a damaged database, every command
// points to restore, and serve makes no new archive.
func TestADamagedDatabaseIsNamedByEveryCommand(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir string) error{
		"malformed":  func(t *testing.T, dir string) error { return overwriteAt(filepath.Join(dir, "archive.db"), 4096) },
		"header":     func(t *testing.T, dir string) error { return overwriteAt(filepath.Join(dir, "archive.db"), 0) },
		"emptied":    func(t *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "archive.db"), 0) },
		"cut short":  func(t *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "archive.db"), 8192) },
		"no archive": func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "archive.db")) },
		"archive alone": func(t *testing.T, dir string) error {
			return errors.Join(os.Truncate(filepath.Join(dir, "archive.db"), 0), os.Remove(filepath.Join(dir, "inbox.db")))
		},
		"emptied inbox": func(t *testing.T, dir string) error { return os.Truncate(filepath.Join(dir, "inbox.db"), 0) },
		"no inbox":      func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "inbox.db")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fillArchive(t, dir)
			withRecordings(t, dir, 1)
			if err := damage(t, dir); err != nil {
				t.Fatal(err)
			}
			before := databases(t, dir)
			for _, args := range [][]string{{"verify"}, {"verify", "--repair"}, {"backup", t.TempDir()}, {"serve", "--create"}} {
				cmd := exec.CommandContext(t.Context(), "minutebook", append(args, "--data", dir)...)
				cmd.Env = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0")
				out, _ := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != 10 || !strings.Contains(string(out), "minutebook restore") {
					t.Errorf("%v: exit code %d\n%s", args, code, out)
				}
				if after := databases(t, dir); !maps.Equal(before, after) {
					t.Errorf("%v: the databases were %v and are %v", args, before, after)
				}
			}
		})
	}
}

// TestADatabaseOfALaterVersionIsRefused raises the schema of one database after another:
// serve ends with a code with which the unit of systemd starts it no more, names the
// database, and changes nothing.
func TestADatabaseOfALaterVersionIsRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	unit, err := os.ReadFile("../../packaging/minutebook.service")
	if err != nil || !strings.Contains(string(unit), fmt.Sprintf("\nRestartPreventExitStatus=2 %d\n", control.NewerCode)) {
		t.Errorf("the unit starts a program again that is too old: %v", err)
	}
	whole := t.TempDir()
	fillArchive(t, whole)
	run(t, "service", "users", "create", "--user", "ann@acme.example", "--data", whole)
	start(t, "serve", "--data", whole).stop() // makes the other databases
	commands := map[string][]string{"service.db": {"service", "users", "list"}, "access.db": {"user", "list"}, "notes.db": {"verify"}}
	for name := range databases(t, whole) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			db := sqlite.Connect(filepath.Join(dir, name), "", nil)
			_, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			before := databases(t, dir)
			cmd := exec.CommandContext(t.Context(), "minutebook", "serve", "--data", dir)
			cmd.Env = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN=127.0.0.1:0", "MINUTEBOOK_SERVICE_ENABLED=true")
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != control.NewerCode || !strings.Contains(string(out), name+": it has schema version 9999") {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if after := databases(t, dir); !maps.Equal(before, after) {
				t.Errorf("the databases were %v and are %v", before, after)
			}
			command := commands[name]
			if command == nil {
				command = []string{"status"}
			}
			cmd = exec.CommandContext(t.Context(), "minutebook", append(command, "--data", dir)...)
			if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != control.NewerCode || !strings.Contains(string(out), "run the Minutebook that wrote it, or newer") {
				t.Errorf("%v: %s", command, out)
			}
			if out, _ := exec.CommandContext(t.Context(), "minutebook", "doctor", "--offline", "--data", dir).Output(); !strings.Contains(string(out), "run the Minutebook that wrote it, or a newer one") {
				t.Errorf("doctor: %s", out)
			}
		})
	}
}

// databases are the databases of a data directory, with their sizes.
func databases(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.db"))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[filepath.Base(path)] = info.Size()
	}
	return sizes
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
		raw := fmt.Appendf(nil, `{"recording_id":%d,"title":"T","transcript":[{"speaker":{"display_name":"A"},"text":"words of %d zq%[1]dqz","timestamp":"00:00:01"}]}`, id+1, id)
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

// overwriteAt overwrites two pages of a file.
func overwriteAt(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(strings.Repeat("\xee", 8192)), at)
	return err
}
