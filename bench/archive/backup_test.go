package archive

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// BenchmarkBackup backs up an archive without recordings twice, and checks it, beside
// restic on the same files: the second time nothing has changed. A backup reads back all
// that it wrote; restic's check with --read-data does.
func BenchmarkBackup(b *testing.B) {
	restic := testrun.Program(b, "restic")
	dir := built(b, options.meetings)
	a := open(b, dir)
	defer a.Close()
	for b.Loop() {
		ours, repository := b.TempDir(), filepath.Join(b.TempDir(), "repository")
		timed := func(unit string, do func() error) float64 {
			b.Helper()
			started := time.Now()
			if err := do(); err != nil {
				b.Fatal(unit, err)
			}
			seconds := time.Since(started).Seconds()
			b.ReportMetric(seconds, unit)
			return seconds
		}
		run := func(args ...string) func() error {
			return func() error {
				c := exec.CommandContext(b.Context(), restic, append([]string{"-q", "-r", repository}, args...)...)
				c.Env = append(os.Environ(), "RESTIC_PASSWORD=bench", "RESTIC_CACHE_DIR="+b.TempDir())
				out, err := c.CombinedOutput()
				if err != nil {
					return errors.Join(err, errors.New(string(out)))
				}
				return nil
			}
		}
		backUp := func() error {
			_, err := backup.Run(b.Context(), a, ours, backup.Options{})
			return err
		}
		if err := run("init")(); err != nil {
			b.Fatal(err)
		}
		databases, err := a.DatabaseFiles(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		backUpBeside := run(append([]string{"backup"}, databases...)...)
		first, firstRestic := timed("first-s", backUp), timed("restic-first-s", backUpBeside)
		second, secondRestic := timed("second-s", backUp), timed("restic-second-s", backUpBeside)
		check := timed("verify-s", func() error {
			_, err := a.Verify(b.Context(), archive.VerifyOptions{SkipMedia: true}, func(d archive.Damage) { b.Error(d) })
			return err
		})
		checkRestic := timed("restic-check-s", run("check", "--read-data"))
		b.ReportMetric(first/firstRestic, "first-ratio")
		b.ReportMetric(second/secondRestic, "second-ratio")
		b.ReportMetric(check/checkRestic, "verify-ratio")
	}
}

// insertBare writes the meetings' JSON as rows of a bare SQLite table, in the same batches
// and with the archive's settings, and returns the time that this took.
func insertBare(b *testing.B, n, batch int) (elapsed time.Duration) {
	b.Helper()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bare.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.W.Exec(`CREATE TABLE parts (recording_id INTEGER, part TEXT, body BLOB, PRIMARY KEY (recording_id, part))`); err != nil {
		b.Fatal(err)
	}
	r := source(b)
	for from := 1; from <= n; {
		var list []archive.Observation
		for ; len(list) < batch && from <= n; from++ {
			o, _, err := r.Observation(from)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, o)
		}
		started := time.Now()
		tx, err := db.W.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range list {
			for part, raw := range o.Parts {
				if _, err := tx.Exec(`INSERT INTO parts VALUES (?, ?, ?)`, o.RecordingID, part, []byte(raw)); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		elapsed += time.Since(started)
	}
	return elapsed
}
