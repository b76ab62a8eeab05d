package powercut_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"minutebook/internal/durable"
	"minutebook/internal/powercut"
	"minutebook/internal/testrun"
)

const directory = "MINUTEBOOK_TEST_POWERCUT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(directory); dir != "" {
		if err := writeFiles(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testrun.Main(m)
}

// old and later are contents of several pages.
var old, later = bytes.Repeat([]byte("old "), 3000), bytes.Repeat([]byte("later"), 4000)

// writeFiles replaces files in ways that are safe and in some that are not.
func writeFiles(dir string) error {
	for _, replace := range []func() error{
		func() error { return durable.WriteFile(filepath.Join(dir, "durable"), later) },
		func() error { return os.WriteFile(filepath.Join(dir, "in place"), later, 0o600) },
		func() error {
			temp := filepath.Join(dir, "temp")
			if err := os.WriteFile(temp, later, 0o600); err != nil {
				return err
			}
			return os.Rename(temp, filepath.Join(dir, "renamed without a sync"))
		},
		func() error { return durable.MkdirAll(filepath.Join(dir, "a", "b")) },
		func() error { return durable.WriteFile(filepath.Join(dir, "a", "b", "durable"), later) },
		func() error { return durable.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "a", "moved")) },
		func() error { return durable.Remove(filepath.Join(dir, "removed")) },
		func() error {
			from, err := os.Open(filepath.Join(dir, "durable"))
			if err != nil {
				return err
			}
			defer from.Close()
			return durable.Write(filepath.Join(dir, "copied"), func(w io.Writer) error {
				_, err := from.WriteTo(w)
				return err
			})
		},
		func() error { return os.Remove(filepath.Join(dir, "removed without a sync")) },
	} {
		if err := replace(); err != nil {
			return err
		}
	}
	return nil
}

// TestReplay cuts the power at every moment: files that were replaced durably are whole, the
// others are seen to be damaged.
func TestReplay(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	for _, name := range []string{"durable", "in place", "renamed without a sync", "moved", "removed", "removed without a sync"} {
		if err := os.WriteFile(filepath.Join(dir, name), old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := powercut.NewRecorder(t, dir)
	cmd := r.Command(t, os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), directory+"="+dir), os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	log, err := r.Log(t.Context(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	var moments []int
	for i := range log.Len() + 1 {
		moments = append(moments, i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	damaged := map[string]int{}
	err = log.Replay(moments, func(moment int, write func(string, powercut.Cut, *rand.Rand) error) error {
		for _, cut := range []powercut.Cut{{}, {Pages: 0.5, Names: 0.5}, {Names: 1}, powercut.Kill} {
			to := filepath.Join(t.TempDir(), "after")
			if err := write(to, cut, random); err != nil {
				return err
			}
			for _, name := range []string{"durable", "in place", "renamed without a sync", "a/b/durable", "copied", "moved", "a/moved"} {
				content, err := os.ReadFile(filepath.Join(to, name))
				if err == nil && !bytes.Equal(content, old) && !bytes.Equal(content, later) {
					damaged[name]++
				}
			}
			_, before := os.Stat(filepath.Join(to, "moved"))
			if _, after := os.Stat(filepath.Join(to, "a/moved")); (before == nil) == (after == nil) {
				t.Errorf("moment %d, %v: moved is in the one place: %v, in the other: %v", moment, cut, before, after)
			}
			if moment < log.Len() {
				continue
			}
			if _, err := os.Stat(filepath.Join(to, "removed")); err == nil {
				t.Errorf("%v: what was removed durably is there at the end", cut)
			}
			if _, err := os.Stat(filepath.Join(to, "removed without a sync")); err == nil && cut.Names == 0 {
				damaged["removed without a sync"]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in place", "renamed without a sync", "removed without a sync"} {
		if damaged[name] == 0 {
			t.Errorf("%s: no power cut damaged it", name)
		}
		delete(damaged, name)
	}
	if len(damaged) > 0 {
		t.Errorf("damaged: %v", damaged)
	}
}
