package control

import (
	"testing"
	"time"
)

func TestForecastFull(t *testing.T) {
	at := func(days int) time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days) }
	for name, c := range map[string]struct {
		samples []sample
		now     sample
		want    time.Time
	}{
		"no samples":      {nil, sample{at(0), 100}, time.Time{}},
		"half a day":      {[]sample{{at(0), 100}}, sample{at(0).Add(time.Hour), 50}, time.Time{}},
		"ten a day":       {[]sample{{at(0), 100}, {at(1), 95}}, sample{at(2), 80}, at(10)},
		"grows":           {[]sample{{at(0), 100}}, sample{at(2), 120}, time.Time{}},
		"beyond the year": {[]sample{{at(0), 1000}}, sample{at(1), 999}, time.Time{}},
		"full":            {[]sample{{at(0), 1000}}, sample{at(1), 0}, at(1)},
	} {
		if got := forecastFull(c.samples, c.now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
