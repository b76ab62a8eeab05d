package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/internal/testrun"
)

// rounds returns the number of repetitions of a test: few, or many with MINUTEBOOK_LONG.
func rounds(few, many int) int {
	if testrun.IsLong() {
		return many
	}
	return few
}

// withRecordings attaches a recording to each of the first n meetings.
func withRecordings(t *testing.T, dir string, n int64) {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for id := int64(1); id <= n; id++ {
		b, err := a.Media().Put(t.Context(), strings.NewReader(strings.Repeat(fmt.Sprintf("moving pictures of %d ", id), 5000)))
		if err == nil {
			err = a.AttachMedia(t.Context(), id, archive.MediaVideo, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackupKilled kills backup while it copies and while it prunes, again and
// again. There is always a whole generation, as many as before, and the next run
// clears away the remains of the killed ones.
func TestBackupKilled(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	data, dest := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	fillArchive(t, data)
	withRecordings(t, data, 20)
	started := time.Now()
	run(t, "backup", "--data", data, "--keep", "2", dest)
	whole := time.Since(started)
	killed := 0
	for range rounds(5, 150) {
		before, err := generation.List(t.Context(), dest)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "minutebook", "backup", "--data", data, "--keep", "2", dest)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(whole))), func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		timer.Stop()
		after, err := generation.List(t.Context(), dest)
		if err != nil || len(after) < len(before) && len(after) < 2 {
			t.Fatalf("%d generations after %d: %v", len(after), len(before), err)
		}
		for _, g := range after {
			m, err := backup.Restore(t.Context(), backup.RestoreOptions{From: dest, Generation: g.Name, Dir: filepath.Join(t.TempDir(), "back"), Logger: zerolog.Nop()})
			if err != nil || m.Meetings != 40 {
				t.Errorf("%s: %d meetings, %v", g.Name, m.Meetings, err)
			}
		}
	}
	t.Logf("%d of the runs were killed", killed)
	run(t, "backup", "--data", data, "--keep", "1", dest)
	all, err := generation.List(t.Context(), dest)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d generations, %v", len(all), err)
	}
	want := map[string]bool{"lock": true, all[0].Name + "/manifest.json": true}
	for _, f := range all[0].Files {
		want[f.Path] = true
	}
	for _, dir := range []string{dest, data} {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, path)
			if err != nil || !d.IsDir() && (dir == dest && !want[filepath.ToSlash(rel)] || strings.HasPrefix(d.Name(), ".tmp-")) {
				t.Errorf("left: %s, %v", path, err)
			}
			return nil
		})
	}
}

// TestRepairLosesNothingSilently damages archive.db of a restored copy at random
// places and repairs it: a transcript that is gone then was named, and the exit
// code tells.
func TestRepairLosesNothingSilently(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	data, dest, copied := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "copied")
	fillTalkative(t, data, 60)
	run(t, "backup", "--data", data, dest)
	run(t, "restore", "--data", copied, dest)
	for seed := range uint64(rounds(3, 200)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(copied)); err != nil {
				t.Fatal(err)
			}
			damageRandomly(t, filepath.Join(dir, "archive.db"), rand.New(rand.NewPCG(seed, 4)))
			cmd := exec.CommandContext(t.Context(), "minutebook", "verify", "--repair", "--data", dir)
			out, _ := cmd.CombinedOutput()
			code := cmd.ProcessState.ExitCode()
			if code == archive.DamageDatabase.ExitCode() {
				return // nothing is repaired then
			}
			a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Logger: zerolog.Nop()})
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			defer a.Close()
			gone := 0
			for id := int64(1); id <= 60; id++ {
				if row, err := a.Row(t.Context(), id); err == nil && row.HasTranscript {
					continue
				}
				gone++
				if !strings.Contains(string(out), fmt.Sprintf("transcript of \"Talk %d\"", id)) && !strings.Contains(string(out), fmt.Sprintf("all versions of \"Talk %d\"", id)) {
					t.Errorf("the transcript of %d is gone and not named", id)
				}
			}
			aside, _ := filepath.Glob(filepath.Join(dir, "damaged", "*"))
			if gone > 0 && (code != archive.LostCode || len(aside) < gone) || code == 0 && strings.Contains(string(out), "lost ") {
				t.Errorf("exit code %d with %d transcripts gone and %d files put aside", code, gone, len(aside))
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

// fillTalkative makes an archive of n meetings whose transcripts are most of it.
func fillTalkative(t *testing.T, dir string, n int) {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for id := 1; id <= n; id++ {
		var text strings.Builder
		for range 500 {
			fmt.Fprintf(&text, "w%d ", random.Uint32())
		}
		raw := fmt.Appendf(nil, `{"recording_id":%d,"title":"Talk %d","transcript":[{"speaker":{"display_name":"A"},"text":%q,"timestamp":"00:00:01"}]}`, id, id, text.String())
		o, err := archive.FromMeeting("main", archive.SourceList, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), raw)
		if err == nil {
			_, err = a.Apply(t.Context(), []archive.Observation{o})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// damageRandomly overwrites four bytes at twenty random places of a file.
func damageRandomly(t *testing.T, path string, random *rand.Rand) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	for range 20 {
		if err == nil {
			_, err = f.WriteAt(fmt.Appendf(nil, "%04x", random.Uint32()>>16), random.Int64N(size-4))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
