package crontab

import (
	"strings"
	"testing"
	"time"
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
