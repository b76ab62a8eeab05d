package crontab

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestSchedulesHaveAZone parses schedules with a zone of their own and without one.
func TestSchedulesHaveAZone(t *testing.T) {
	zone := time.FixedZone("there", 2*3600)
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for expr, want := range map[string]time.Time{
		"0 3 * * *":                     time.Date(2026, 7, 2, 1, 0, 0, 0, time.UTC),
		"@daily":                        time.Date(2026, 7, 1, 22, 0, 0, 0, time.UTC),
		"CRON_TZ=Asia/Tokyo 0 3 * * *":  time.Date(2026, 7, 1, 18, 0, 0, 0, time.UTC),
		"TZ=America/New_York 0 3 * * *": time.Date(2026, 7, 2, 7, 0, 0, 0, time.UTC),
	} {
		s, err := Parse(expr, zone)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if next := s.Next(now); !next.Equal(want) {
			t.Errorf("%s fires at %v, want %v", expr, next.UTC(), want)
		}
	}
}

// TestWrongSchedulesAreNamedInWords parses texts that are no schedules.
func TestWrongSchedulesAreNamedInWords(t *testing.T) {
	for _, expr := range []string{"61 * * * *", "x * * * *", "every day", "TZ=0", "TZ=Nowhere/At 0 3 * * *", "@often", "0 0 31 2 *", "@every x", "*/0 * * * *", " "} {
		_, err := Parse(expr, time.UTC)
		if err == nil {
			t.Errorf("%q is a schedule", expr)
			continue
		}
		for _, word := range []string{"strconv", "parse", "panic", "range", "runtime", "descriptor"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%q: %v", expr, err)
			}
		}
	}
}

// TestClocksThatAreSetAnew has days on which a clock skips an hour, or shows one twice: a
// time that is skipped is made up at the first moment after it, one that is shown twice
// counts once, and a schedule of every hour goes by the time that passes.
func TestClocksThatAreSetAnew(t *testing.T) {
	for _, tc := range []struct {
		expr, zone, from string
		want             []string
	}{
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"0 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		{"0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z"}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:00:00Z", []string{"2026-10-26T01:30:00Z"}},
		{"0 3 * * *", "Europe/Berlin", "2026-10-25T00:59:00Z", []string{"2026-10-25T02:00:00Z"}},
		{"30 2 29 3 *", "Europe/Berlin", "2026-01-01T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2027-03-29T00:30:00Z"}},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
		{"@hourly", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		{"@every 1h", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		{"@daily", "Africa/Cairo", "2026-04-23T12:00:00Z", []string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},                        // at midnight
		{"CRON_TZ=Australia/Lord_Howe 15 2 * * *", "UTC", "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}}, // half an hour
		{"45 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", []string{"2026-11-01T05:45:00Z", "2026-11-02T06:45:00Z"}},
		{"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
	} {
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(tc.expr, zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tc.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			at = s.Next(at)
			if got := at.UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s in %s after %s fires at %s, want %s", tc.expr, tc.zone, tc.from, got, want)
				break
			}
		}
	}
}

// FuzzParse: a schedule that is accepted fires later each time, also where a clock is set
// anew, and the reason against another one is a line.
func FuzzParse(f *testing.F) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	for _, expr := range []string{"30 2 * * *", "@daily", "@every 1h", "CRON_TZ=Australia/Lord_Howe */15 2,3 * * *", "0 0 29 2 *", "0 0 31 2 *", "TZ=0", "61 * * * *", "1-5/2 * * JAN-MAR mon", "@every -1s"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := Parse(expr, zone)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%q", err)
			}
			return
		}
		for _, at := range []time.Time{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 0, 45, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 15, 0, 1, time.UTC)} {
			for range 4 {
				next := s.Next(at)
				if !next.After(at) {
					t.Fatalf("%q fires at %v after %v", expr, next, at)
				}
				at = next
			}
		}
	})
}
