package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// everyHour are the hours of a schedule that has all of them.
const everyHour = 1<<24 - 1

// daily fires at times of the day in a zone. The library alone leaves out a time that the
// clock skips, and fires twice where the clock shows it twice.
type daily struct {
	clock cron.SpecSchedule // in UTC, for the readings of the zone's clock
	zone  *time.Location
}

func newDaily(spec cron.SpecSchedule) daily {
	d := daily{clock: spec, zone: spec.Location}
	d.clock.Location = time.UTC
	return d
}

// Next returns when the schedule fires after t, zero for never.
func (d daily) Next(t time.Time) time.Time {
	for shown := showing(t.In(d.zone)); ; {
		shown = d.clock.Next(shown)
		if shown.IsZero() {
			return shown
		}
		if at := firstMoment(shown, d.zone); at.After(t) {
			return at.In(t.Location())
		}
	}
}

// showing returns the reading of t's clock, as if it were UTC.
func showing(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// firstMoment returns when the clock of a zone first shows a time, or the end of the hour
// that it skips.
func firstMoment(shown time.Time, zone *time.Location) time.Time {
	t := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), shown.Nanosecond(), zone)
	began, ends := t.ZoneBounds()
	if shows := showing(t); shows.Before(shown) {
		return ends
	} else if shows.After(shown) {
		return began
	}
	if !began.IsZero() {
		_, before := began.Add(-1).Zone()
		_, now := t.Zone()
		if first := t.Add(time.Duration(now-before) * time.Second); first.Before(began) && showing(first).Equal(shown) {
			return first
		}
	}
	return t
}
