// Package civil finds where days begin. A clock that is moved at midnight leaves a day without a
// midnight, or with two of them. It also tells the times that are known.
package civil

import "time"

// Day returns the first instant of a day in a zone. The day may be outside of its month, as
// in [time.Date].
func Day(year int, month time.Month, day int, zone *time.Location) time.Time {
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	at := time.Date(year, month, day, 0, 0, 0, 0, zone)
	begin, end := at.ZoneBounds()
	if !isOn(at, date) { // its midnight was left out
		return end
	}
	if before := begin.Add(-1); !begin.IsZero() && isOn(before, date) { // its second midnight
		_, old := before.Zone()
		_, offset := at.Zone()
		return at.Add(time.Duration(offset-old) * time.Second)
	}
	return at
}

func isOn(t, date time.Time) bool {
	y, m, d := t.Date()
	return y == date.Year() && m == date.Month() && d == date.Day()
}

// IsKnown reports whether a meeting's start, or another time, is known: the archive orders a
// meeting without any as one of the first instant of 1970.
func IsKnown(t time.Time) bool { return !t.IsZero() && t.UnixMilli() != 0 }
