package archive

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/roster"
)

// BenchmarkRoster: people, one person, action items, a year and the news under 100 ms
// (p99) with 100,000 meetings, for the owner and for somebody who sees a part. The
// meetings have short transcripts: the roster does not read more.
func BenchmarkRoster(b *testing.B) {
	a := open(b, filepath.Join(options.data, "light"))
	defer a.Close()
	r := source(b)
	c, err := a.Counts(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for number := c.Meetings + 1; number <= options.meetings; {
		var list []archive.Observation
		for ; len(list) < 500 && number <= options.meetings; number++ {
			m := r.Meeting(number)
			if t, ok := m.Transcript.Get(); ok {
				m.Transcript = api.Some(slices.Clone(t[:min(len(t), 12)]))
			}
			for i := range 3 {
				to := m.CalendarInvitees[i]
				m.ActionItems = api.Some(append(m.ActionItems.Or(nil), api.ActionItem{Description: "Send the figures", Completed: number%3 == 0,
					RecordingTimestamp: "00:00:30", Assignee: api.Some(api.Assignee{Name: to.Name, Email: to.Email})}))
			}
			raw, err := json.Marshal(m)
			if err != nil {
				b.Fatal(err)
			}
			o, err := archive.FromMeeting("main", archive.SourceList, time.Now(), raw)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, o)
		}
		if _, err := a.Apply(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	people := roster.New(a)
	all, err := people.People(b.Context(), roster.View{Viewer: archive.Viewer{All: true}})
	if err != nil || len(all) == 0 {
		b.Fatal(err)
	}
	b.Logf("%d people, first answer after %v", len(all), time.Since(begun))
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("%d MB in memory", (after.HeapAlloc-before.HeapAlloc)>>20)
	for name, viewer := range map[string]archive.Viewer{"owner": {All: true}, "part": archive.ViewerWith(all[0].Key)} {
		v := roster.View{Viewer: viewer}
		year := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		for question, ask := range map[string]func() error{
			"people": func() error { _, err := people.People(b.Context(), v); return err },
			"person": func() error { _, err := people.Person(b.Context(), v, all[0].Key, time.UTC); return err },
			"items": func() error {
				_, err := people.Items(b.Context(), v, roster.ItemQuery{State: roster.Open, Limit: 500})
				return err
			},
			"calendar": func() error { _, err := people.Calendar(b.Context(), v, year, year.AddDate(1, 0, 0)); return err },
			"news":     func() error { _, _, _, err := people.News(b.Context(), v, archive.Position{}, 100); return err },
		} {
			b.Run(name+"/"+question, func(b *testing.B) {
				var times []time.Duration
				spent := processorTime(b)
				for b.Loop() {
					begun := time.Now()
					if err := ask(); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(begun))
				}
				b.ReportMetric(float64((processorTime(b)-spent).Microseconds())/1000/float64(len(times)), "cpu-ms/op")
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

// processorTime is the time that the process has used of all processors: on a busy
// machine it says more than the clock.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
