package archive

import (
	"fmt"
	"testing"
	"time"

	"minutebook/archive"
)

// BenchmarkExport: 10,000 meetings to Markdown in under 60 s; measured on 1,000
// into an empty directory, and reported for 10,000.
func BenchmarkExport(b *testing.B) {
	const n = 1000
	a := open(b, b.TempDir())
	defer a.Close()
	fill(b, a, n)
	for b.Loop() {
		begun := time.Now()
		r, err := a.Export(b.Context(), archive.ExportOptions{Dir: b.TempDir(), Format: archive.ExportMarkdown})
		if err != nil || r.Meetings != n {
			b.Fatal(r, err)
		}
		b.ReportMetric(10_000/n*time.Since(begun).Seconds(), "s/10000-meetings")
	}
}

// BenchmarkOpen: an archive of 100,000 meetings in under 100 ms. The meetings
// are without transcripts, which Open does not look at.
func BenchmarkOpen(b *testing.B) {
	const n, batch = 100_000, 2000
	dir := b.TempDir()
	a := open(b, dir)
	for i := 0; i < n; i += batch {
		list := make([]archive.Observation, 0, batch)
		for id := i + 1; id <= i+batch; id++ {
			o, err := archive.FromMeeting("bench", archive.SourceList, start, fmt.Appendf(nil,
				`{"recording_id":%d,"title":"Meeting %d","recording_start_time":"2026-01-01T09:00:00Z","recorded_by":{"name":"A","email":"a@bench.example"}}`, id, id))
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, o)
		}
		if _, err := a.Apply(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		begun := time.Now()
		a := open(b, dir)
		took := time.Since(begun)
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(took.Microseconds())/1000, "open-ms")
	}
}
