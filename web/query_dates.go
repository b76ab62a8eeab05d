package web

import (
	"time"
)

// readDay reads the first day of a day, month or year as the query language writes them.
func readDay(text string) (day time.Time, ok bool) {
	for _, layout := range []string{"2006-1-2", "2006-1", "2006"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return day, false
}

// shiftDay returns the day so many days after the first of a day, month or year, and ""
// for any other text.
func shiftDay(text string, days int) string {
	t, ok := readDay(text)
	if !ok {
		return ""
	}
	return t.AddDate(0, 0, days).Format(time.DateOnly)
}
