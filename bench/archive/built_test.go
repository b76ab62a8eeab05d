package archive

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/internal/testrun"
)

var options struct {
	meetings int
	data     string
	whole    bool
}

// TestMain reads the flags, and is the process whose memory is measured.
func TestMain(m *testing.M) {
	flag.IntVar(&options.meetings, "meetings", 10_000, "how many meetings")
	flag.StringVar(&options.data, "data", "", "keep archives in this `directory`")
	flag.BoolVar(&options.whole, "whole", false, "have the meetings of the opened archive be whole (7 GB, several minutes)")
	flag.Parse()
	if what := os.Getenv(measuredOperation); what != "" {
		os.Exit(measured(what))
	}
	if options.data != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "bench-archive")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options.data = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func open(tb testing.TB, dir string) *archive.Archive {
	tb.Helper()
	a, err := archive.Open(tb.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// source makes the meetings, or skips where there is no corpus.
func source(tb testing.TB) *corpus.Resampler {
	tb.Helper()
	r, err := corpus.NewResampler(testrun.Corpus(tb), 1)
	if err != nil {
		tb.Fatal(err)
	}
	r.Mean = true
	return r
}

// filled counts the content of an archive.
type filled struct {
	json, text int64 // bytes
	elapsed    time.Duration
}

// fill applies the meetings from one number up to another in batches.
func fill(tb testing.TB, a *archive.Archive, r *corpus.Resampler, from, to, batch int) (f filled) {
	tb.Helper()
	for from <= to {
		var list []archive.Observation
		for ; len(list) < batch && from <= to; from++ {
			o, text, err := r.Observation(from)
			if err != nil {
				tb.Fatal(err)
			}
			for _, raw := range o.Parts {
				f.json += int64(len(raw))
			}
			f.text += int64(text)
			list = append(list, o)
		}
		started := time.Now()
		if _, err := a.Apply(tb.Context(), list); err != nil {
			tb.Fatal(err)
		}
		f.elapsed += time.Since(started)
	}
	return f
}

// built is the directory of an archive of n meetings.
func built(tb testing.TB, n int) string {
	tb.Helper()
	dir := filepath.Join(options.data, fmt.Sprint("archive-", n))
	r := source(tb)
	a := open(tb, dir)
	defer a.Close()
	c, err := a.Counts(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	fill(tb, a, r, c.Meetings+1, n, 100)
	return dir
}

func sizeOf(tb testing.TB, dir string) float64 {
	tb.Helper()
	info, err := os.Stat(filepath.Join(dir, "archive.db"))
	if err != nil {
		tb.Fatal(err)
	}
	return float64(info.Size())
}
