package syncer

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func pageBefore(meetings []time.Time, before time.Time) pageSample {
	s := pageSample{Before: before}
	for i := len(meetings) - 1; i >= 0; i-- {
		if !meetings[i].Before(before) {
			continue
		}
		if s.Items == pageSize {
			s.More = true
			break
		}
		if s.Items == 0 {
			s.Newest = meetings[i]
		}
		s.Oldest = meetings[i]
		s.Items++
	}
	return s
}

func TestLayoutSharesMeetingsOut(t *testing.T) {
	start := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	var meetings []time.Time
	for i := range 10000 {
		meetings = append(meetings, start.Add(time.Duration(i)*2*time.Hour))
	}
	end := meetings[len(meetings)-1].Add(time.Hour)
	var samples []pageSample
	for _, back := range []int{0, 1, 4, 16, 64, 256, 800} {
		if s := pageBefore(meetings, end.Add(-time.Duration(back)*24*time.Hour)); s.Items > 0 {
			samples = append(samples, s)
		}
	}
	windows := windowsBetween(time.Time{}, end, cutHistory(samples, maxWindows))
	if len(windows) != maxWindows {
		t.Fatalf("%d windows, want %d", len(windows), maxWindows)
	}
	for _, w := range windows {
		n := 0
		for _, m := range meetings {
			if !m.Before(w.After) && m.Before(w.Before) {
				n++
			}
		}
		if n < 600 || n > 1200 {
			t.Errorf("window %v to %v holds %d meetings of 10000 in 12", w.After, w.Before, n)
		}
	}
}

func TestFewMeetingsAreOneWindow(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := pageSample{Newest: now.Add(-time.Hour), Oldest: now.AddDate(0, -2, 0), Items: 10, More: true}
	if w := windowsBetween(time.Time{}, now, cutHistory([]pageSample{s}, maxWindows)); len(w) != 1 {
		t.Errorf("%d windows, want 1", len(w))
	}
}

func TestWindowsCoverAllTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		var samples []pageSample
		for range rapid.IntRange(0, 12).Draw(t, "samples") {
			at := base.Add(time.Duration(rapid.IntRange(0, 50000).Draw(t, "hours")) * time.Hour)
			span := time.Duration(rapid.IntRange(0, 5000).Draw(t, "span")) * time.Minute
			samples = append(samples, pageSample{Newest: at, Oldest: at.Add(-span), Items: rapid.IntRange(0, 10).Draw(t, "items")})
		}
		end := base.AddDate(6, 0, 0)
		windows := windowsBetween(time.Time{}, end, cutHistory(samples, maxWindows))
		if len(windows) > maxWindows {
			t.Fatalf("%d windows", len(windows))
		}
		upper := end
		for i, w := range windows {
			if w.N != i || !w.Before.Equal(upper) || (!w.After.IsZero() && !w.After.Before(w.Before)) {
				t.Fatalf("window %d is %+v, want it to end at %v", i, w, upper)
			}
			upper = w.After
		}
		if !upper.IsZero() {
			t.Fatalf("the oldest window begins at %v", upper)
		}
	})
}
