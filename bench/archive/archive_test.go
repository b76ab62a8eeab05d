package archive

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
)

func open(tb testing.TB, dir string) *archive.Archive {
	tb.Helper()
	a, err := archive.Open(tb.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

const pageSize = 10 // of the service's list, and so of a batch

// fill applies n meetings in batches and returns the bytes of JSON, those of
// the spoken text, and the time that Apply took.
func fill(tb testing.TB, a *archive.Archive, n int) (raw, text int64, took time.Duration) {
	tb.Helper()
	for i := 0; i < n; i += pageSize {
		batch, err := meetings(7, i, min(pageSize, n-i))
		if err != nil {
			tb.Fatal(err)
		}
		for _, o := range batch {
			for p, part := range o.Parts {
				raw += int64(len(part))
				if p == api.PartTranscript {
					text += textOf(part)
				}
			}
		}
		begun := time.Now()
		if _, err := a.Apply(tb.Context(), batch); err != nil {
			tb.Fatal(err)
		}
		took += time.Since(begun)
	}
	return raw, text, took
}

func textOf(part []byte) int64 {
	var entries api.Opt[[]api.TranscriptEntry]
	_ = entries.UnmarshalJSON(part)
	var n int64
	for _, e := range entries.Or(nil) {
		n += int64(len(e.Text))
	}
	return n
}

// BenchmarkApply: 300 meetings a second or more, in batches of a page with full
// synchronisation; the database at most 2.0 times the text.
func BenchmarkApply(b *testing.B) {
	const n = 1000
	for b.Loop() {
		dir := b.TempDir()
		a := open(b, dir)
		raw, text, took := fill(b, a, n)
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(dir + "/archive.db")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(n/took.Seconds(), "meetings/s")
		b.ReportMetric(float64(info.Size())/float64(text), "size/text")
		b.ReportMetric(float64(info.Size())/float64(raw), "size/json")
	}
}

// BenchmarkReapply: what a nightly walk costs that finds nothing new.
func BenchmarkReapply(b *testing.B) {
	const n = 500
	a := open(b, b.TempDir())
	defer a.Close()
	fill(b, a, n)
	for b.Loop() {
		_, _, took := fill(b, a, n)
		b.ReportMetric(n/took.Seconds(), "meetings/s")
	}
}

// BenchmarkReadMeeting: one meeting whole, under 5 ms at p99.
func BenchmarkReadMeeting(b *testing.B) {
	const n = 500
	a := open(b, b.TempDir())
	defer a.Close()
	fill(b, a, n)
	var times []time.Duration
	for b.Loop() {
		for id := range int64(n) {
			begun := time.Now()
			if _, err := a.MeetingJSON(b.Context(), id+1); err != nil {
				b.Fatal(err)
			}
			if _, err := a.Entries(b.Context(), id+1, 0, -1); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(begun))
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkVerify: 10,000 meetings without media in under 60 s; measured on
// 1,000 and reported for 10,000.
func BenchmarkVerify(b *testing.B) {
	const n = 1000
	a := open(b, b.TempDir())
	defer a.Close()
	fill(b, a, n)
	for b.Loop() {
		begun := time.Now()
		v, err := a.Verify(b.Context(), archive.VerifyOptions{SkipMedia: true}, func(d archive.Damage) { b.Error(d) })
		if err != nil || v.Meetings != n {
			b.Fatal(v, err)
		}
		b.ReportMetric(10_000/n*time.Since(begun).Seconds(), "s/10000-meetings")
	}
}
