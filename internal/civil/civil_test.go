package civil

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// TestDaysFollowOneAnother goes through years of days in zones that move the clock at midnight
// and in others: no instant is of two days or of none.
func TestDaysFollowOneAnother(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Santiago", "America/Havana", "America/Asuncion", "Africa/Cairo", "Asia/Beirut", "Asia/Gaza", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for day := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2027; day = day.AddDate(0, 0, 1) {
			at := Day(day.Year(), day.Month(), day.Day(), zone)
			if name == "Pacific/Apia" && day.Format(time.DateOnly) == "2011-12-30" {
				continue // it never was
			}
			before := at.Add(-time.Nanosecond)
			if !isOn(at, day) || isOn(before, day) || before.After(at) {
				t.Errorf("%s, %s begins %s after %s", name, day.Format(time.DateOnly), at, before)
			}
		}
	}
}
