package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/sqlite/dump"
	"minutebook/internal/sqlite/frozen"
	"minutebook/internal/testrun"
)

// TestMigrationOfALargeArchiveIsInterrupted stops and kills the program again and again
// while it opens an archive of an earlier version with a thousand meetings, in a long run
// with 160,000: each next start goes on, and the last one has all meetings. Those of the first
// release have several versions, and are decided again.
func TestMigrationOfALargeArchiveIsInterrupted(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for version, copies := range map[string][2]int64{"20": {1 << 8, 1 << 15}, "0.9.0": {1 << 5, 1 << 12}} {
		t.Run(version, func(t *testing.T) {
			if testrun.IsLong() {
				interruptMigration(t, version, copies[1], 8)
			} else {
				interruptMigration(t, version, copies[0], 6)
			}
		})
	}
}

// interruptMigration ends the program so many times while it opens copies of a frozen archive.
func interruptMigration(t *testing.T, version string, copies int64, tries int) {
	data, meetings := earlyArchive(t, version, copies)
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

// earlyArchive makes an archive of an earlier version that is kept as SQL, with so many copies
// of the five meetings there.
func earlyArchive(t *testing.T, version string, copies int64) (data string, meetings int64) {
	t.Helper()
	data = frozen.Directory(t, version)
	err := os.MkdirAll(filepath.Join(data, "media"), 0o700)
	if err == nil { // its recordings are lost
		err = os.WriteFile(filepath.Join(data, "media", "archive-id"), nil, 0o600)
	}
	if err == nil {
		const ids, numbers, revisions = 1_000_000_000, 8, 64 // more than those there
		err = dump.Repeat(t.Context(), filepath.Join(data, "archive.db"), filepath.Join(frozen.Directory(t, version), "archive.db"), 1, copies-1, dump.Keys{
			"meetings":     {"recording_id": ids, "number": numbers},
			"parts":        {"recording_id": ids, "revision_id": revisions},
			"revisions":    {"id": revisions, "recording_id": ids},
			"bodies":       {"revision_id": revisions},
			"observations": {"revision_id": revisions},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return data, 5 * copies
}
