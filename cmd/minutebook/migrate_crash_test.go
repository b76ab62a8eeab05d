package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestMigrationOfALargeArchiveIsInterrupted stops and kills the program again and again
// while it opens an archive of an early version with thousands of meetings, in a long run
// with 160,000: each next start goes on, and the last one has all meetings.
func TestMigrationOfALargeArchiveIsInterrupted(t *testing.T) {
	testrun.SkipUnderRace(t)
	doublings, tries := 10, 6
	if testrun.IsLong() {
		doublings, tries = 15, 8
	}
	data := filepath.Join(t.TempDir(), "data")
	meetings := earlyArchive(t, data, doublings)
	whole := t.TempDir()
	if err := os.CopyFS(whole, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	run(t, "stats", "--data", whole)
	took := time.Since(began)
	ended := map[string]int{}
	for i := range tries {
		signal := []os.Signal{syscall.SIGTERM, syscall.SIGKILL}[i%2]
		cmd := exec.Command("minutebook", "stats", "--data", data)
		said := &strings.Builder{}
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(took*time.Duration(i+1)/time.Duration(2*tries), func() { cmd.Process.Signal(signal) })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			ended["itself"]++
			continue
		}
		ended[signal.String()]++
		if strings.Contains(said.String(), "goroutine ") || signal == syscall.SIGTERM && strings.Contains(said.String(), "damage") {
			t.Errorf("ended by %v it says %s", signal, said)
		}
	}
	out := run(t, "stats", "--data", data)
	if !strings.Contains(out, fmt.Sprintf(" %d\n", meetings)) {
		t.Errorf("of %d meetings stats says %s", meetings, out)
	}
	size := regexp.MustCompile(`database MB .*`) // a database that was copied more often has other gaps
	if got := run(t, "stats", "--data", whole); size.ReplaceAllString(got, "") != size.ReplaceAllString(out, "") {
		t.Errorf("undisturbed it says %s, not %s", got, out)
	}
	t.Logf("%d meetings, undisturbed in %v; ended by %v", meetings, took, ended)
}

// earlyArchive makes an archive of the first version that is kept as SQL, with the five
// meetings there doubled some times, and returns their number.
func earlyArchive(t *testing.T, dir string, doublings int) (meetings int) {
	t.Helper()
	text, err := os.ReadFile("../../archive/testdata/schemas/20.sql")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "media"), 0o700)
	}
	if err == nil { // its recordings are lost
		err = os.WriteFile(filepath.Join(dir, "media", "archive-id"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	db := sqlite.Connect(filepath.Join(dir, "archive.db"), "?mode=rwc&_foreign_keys=0&_synchronous=OFF", nil)
	defer db.Close()
	if _, err := db.Exec(string(text)); err != nil {
		t.Fatal(err)
	}
	const revisions = 64 // more than the ids of revisions there
	for done := range doublings {
		for table, key := range map[string]map[string]int{ // the keys that grow, and by how much
			"meetings":  {"recording_id": 5 << done, "number": 5 << done},
			"parts":     {"recording_id": 5 << done, "revision_id": revisions << done},
			"revisions": {"id": revisions << done, "recording_id": 5 << done},
			"bodies":    {"revision_id": revisions << done},
		} {
			columns, err := sqlite.Column[string](t.Context(), db, `SELECT name FROM pragma_table_info(?)`, table)
			if err != nil {
				t.Fatal(err)
			}
			values := slices.Clone(columns)
			for i, column := range columns {
				if by := key[column]; by > 0 {
					values[i] = fmt.Sprintf("%s + %d", column, by)
				}
			}
			if _, err := db.Exec(`INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) SELECT ` + strings.Join(values, ", ") + ` FROM ` + table); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
		}
	}
	if err := db.QueryRow(`SELECT count(*) FROM meetings`).Scan(&meetings); err != nil {
		t.Fatal(err)
	}
	return meetings
}
