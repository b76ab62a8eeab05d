package archive

import (
	"fmt"
	"path/filepath"
	"testing"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/bench/corpus"
	real "minutebook/internal/corpus"
)

// BenchmarkApply: 300 meetings a second or more with full synchronisation, in
// batches of a page of the service's list (10) and of an import (100). The last
// tenth is timed apart: it must not be slower because of the others. The peer writes the
// same JSON as rows of a bare SQLite table.
func BenchmarkApply(b *testing.B) {
	for _, batch := range []int{10, 100} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			n := options.meetings
			r := source(b)
			for b.Loop() {
				dir := b.TempDir()
				a := open(b, dir)
				first := fill(b, a, r, 1, n*9/10, batch)
				last := fill(b, a, r, n*9/10+1, n, batch)
				if err := a.Close(); err != nil {
					b.Fatal(err)
				}
				bare := insertBare(b, n, batch)
				b.ReportMetric(float64(n)/(first.elapsed+last.elapsed).Seconds(), "meetings/s")
				b.ReportMetric(float64(n)/bare.Seconds(), "bare-meetings/s")
				b.ReportMetric(bare.Seconds()/(first.elapsed+last.elapsed).Seconds(), "ratio")
				b.ReportMetric(float64(n-n*9/10)/last.elapsed.Seconds(), "last-meetings/s")
				b.ReportMetric(sizeOf(b, dir)/float64(first.text+last.text), "size/text")
				b.ReportMetric(float64(first.text+last.text)/float64(n), "text/meeting")
			}
		})
	}
}

// BenchmarkReapply measures a nightly walk that finds nothing new.
func BenchmarkReapply(b *testing.B) {
	n := options.meetings / 10
	a := open(b, built(b, n))
	defer a.Close()
	r := source(b)
	for b.Loop() {
		f := fill(b, a, r, 1, n, 10)
		b.ReportMetric(float64(n)/f.elapsed.Seconds(), "meetings/s")
	}
}

// BenchmarkCorpusSize: the database of the real meetings, at most 2.0 times
// their text.
func BenchmarkCorpusSize(b *testing.B) {
	source(b)
	dir, err := corpus.Dir()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		data := b.TempDir()
		a := open(b, data)
		if err := corpus.Load(b.Context(), a, dir); err != nil {
			b.Fatal(err)
		}
		var text, json int64
		for _, name := range real.Files() {
			err := real.EachLine(filepath.Join(dir, name), func(line []byte) error {
				_, parts, err := api.SplitMeeting(line)
				json += int64(len(line))
				var entries api.Opt[[]api.TranscriptEntry]
				_ = entries.UnmarshalJSON(parts[api.PartTranscript])
				for _, e := range entries.Or(nil) {
					text += int64(len(e.Text))
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(sizeOf(b, data)/float64(text), "size/text")
		b.ReportMetric(sizeOf(b, data)/float64(json), "size/json")
	}
}

// lightObservation returns a meeting without content.
func lightObservation(tb testing.TB, id int) archive.Observation {
	tb.Helper()
	o, err := archive.FromMeeting("bench", archive.SourceList, corpusDay, fmt.Appendf(nil,
		`{"recording_id":%d,"title":"Meeting %d","recording_start_time":"2026-01-01T09:00:00Z","recorded_by":{"name":"A","email":"a@bench.example"}}`, id, id))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}
