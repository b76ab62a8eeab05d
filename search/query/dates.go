package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/civil"
)

// DateSpan reads a day, month or year, "today" or "yesterday", and returns its first
// instant and the first one after it, in the given place.
func DateSpan(value string, now time.Time, loc *time.Location) (from, to time.Time, err error) {
	now = now.In(loc)
	today := func(more int) time.Time { return civil.Day(now.Year(), now.Month(), now.Day()+more, loc) }
	switch strings.ToLower(value) {
	case "today":
		return today(0), today(1), nil
	case "yesterday":
		return today(-1), today(0), nil
	}
	dashed := strings.ReplaceAll(value, "/", "-")
	for _, form := range []struct {
		layout              string
		years, months, days int
	}{
		{"2006-1-2", 0, 0, 1}, {"2006-1", 0, 1, 0}, {"2006", 1, 0, 0},
	} {
		if day, err := time.Parse(form.layout, dashed); err == nil {
			next := day.AddDate(form.years, form.months, form.days)
			return civil.Day(day.Year(), day.Month(), day.Day(), loc), civil.Day(next.Year(), next.Month(), next.Day(), loc), nil
		}
	}
	return from, to, fmt.Errorf("%q is not a date such as 2026-03-05, 2026-03, 2026, today or yesterday", value)
}

// DateStart reads a date as DateSpan does, or a stretch of time as LastSpan does, and returns
// its first instant.
func DateStart(value string, now time.Time, loc *time.Location) (time.Time, error) {
	from, _, err := DateSpan(value, now, loc)
	if err == nil {
		return from, nil
	}
	if from, spanErr := LastSpan(value, now.In(loc)); spanErr == nil {
		return from, nil
	}
	return from, err
}

// LastSpan reads 12h, 7d, 2w, 3m (months) or 1y and returns when that time
// before now was.
func LastSpan(value string, now time.Time) (time.Time, error) {
	wrong := fmt.Errorf("%q is not a stretch of time such as 12h, 7d, 2w, 3m or 1y", value)
	if len(value) < 2 {
		return time.Time{}, wrong
	}
	n, err := strconv.Atoi(value[:len(value)-1])
	if err != nil || n < 0 || n > 10_000 {
		return time.Time{}, wrong
	}
	switch value[len(value)-1] {
	case 'h', 'H':
		return now.Add(-time.Duration(n) * time.Hour), nil
	case 'd', 'D':
		return now.AddDate(0, 0, -n), nil
	case 'w', 'W':
		return now.AddDate(0, 0, -7*n), nil
	case 'm', 'M':
		return monthsBefore(now, n), nil
	case 'y', 'Y':
		return monthsBefore(now, 12*n), nil
	}
	return time.Time{}, wrong
}

// monthsBefore returns the same day of a month before, or its last where it has no such day.
func monthsBefore(now time.Time, n int) time.Time {
	last := now.AddDate(0, -n, -now.Day()+1).AddDate(0, 1, -1)
	return last.AddDate(0, 0, min(now.Day(), last.Day())-last.Day())
}

// ParseDuration reads 45 (minutes), 30m, 1h or 1h30m.
func ParseDuration(value string) (time.Duration, error) {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < 1_000_000 {
		return time.Duration(n) * time.Minute, nil
	}
	d, err := time.ParseDuration(strings.ToLower(value))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a length such as 30m, 1h or 1h30m", value)
	}
	return d, nil
}
