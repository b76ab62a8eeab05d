package archive

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/export"
)

var corpusDay = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// BenchmarkOpen: an archive of 100,000 meetings in under 100 ms. The meetings
// are bare, unless -whole has them have 300 entries each.
func BenchmarkOpen(b *testing.B) {
	const n, batch = 100_000, 2000
	dir := filepath.Join(options.data, "bare")
	if options.whole {
		dir = built(b, n)
	}
	a := open(b, dir)
	c, err := a.Counts(b.Context())
	for id := c.Meetings; err == nil && id < n; id += batch {
		var list []archive.Observation
		for i := id + 1; i <= min(id+batch, n); i++ {
			list = append(list, lightObservation(b, i))
		}
		_, err = a.Apply(b.Context(), list)
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		for range 20 {
			started := time.Now()
			a := open(b, dir)
			times = append(times, time.Since(started))
			if err := a.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b, times, 50)
	report(b, times, 100)
}

// BenchmarkReadMeeting: one meeting whole, as JSON and its entries, under 5 ms at
// p99. Meetings are read in a random order, each twice at most.
func BenchmarkReadMeeting(b *testing.B) {
	n := options.meetings
	a := open(b, built(b, n))
	defer a.Close()
	order := rand.New(rand.NewPCG(1, 1)).Perm(n)
	var times []time.Duration
	for b.Loop() {
		for _, i := range order[:min(n, 5000)] {
			started := time.Now()
			if _, err := a.MeetingJSON(b.Context(), int64(i+1)); err != nil {
				b.Fatal(err)
			}
			if _, err := a.Entries(b.Context(), int64(i+1), 0, -1); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(started))
		}
	}
	report(b, times, 50)
	report(b, times, 99)
}

func report(b *testing.B, times []time.Duration, percent int) {
	slices.Sort(times)
	at := times[min(len(times)*percent/100, len(times)-1)]
	b.ReportMetric(float64(at.Microseconds())/1000, fmt.Sprintf("p%d-ms", percent))
}

// BenchmarkVerify: 10,000 meetings without media in under 60 s.
func BenchmarkVerify(b *testing.B) {
	a := open(b, built(b, options.meetings))
	defer a.Close()
	for b.Loop() {
		started := time.Now()
		v, err := a.Verify(b.Context(), archive.VerifyOptions{SkipMedia: true}, func(d archive.Damage) { b.Error(d) })
		if err != nil || v.Meetings != options.meetings {
			b.Fatal(v, err)
		}
		b.ReportMetric(time.Since(started).Seconds(), "s")
	}
}

// BenchmarkExport: 10,000 meetings to Markdown in under 60 s, into an empty
// directory; and once more, when nothing has changed.
func BenchmarkExport(b *testing.B) {
	a := open(b, built(b, options.meetings))
	defer a.Close()
	for b.Loop() {
		o := export.Options{Dir: b.TempDir(), Format: export.Markdown}
		for _, unit := range []string{"s", "again-s"} {
			started := time.Now()
			r, err := export.Run(b.Context(), a, o)
			if err != nil || r.Meetings != options.meetings || unit != "s" && r.Written != 0 {
				b.Fatal(r, err)
			}
			b.ReportMetric(time.Since(started).Seconds(), unit)
		}
	}
}
