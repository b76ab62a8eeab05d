// Package crontab parses the schedules of the configuration, and says when a run by one that has
// failed is tried again.
//
// It promises that no expression panics, and that one which never fires is an error. It
// keeps no state.
package crontab

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Parse parses a cron expression of five fields, or a descriptor such as "@daily", in a
// time zone, unless the expression begins with one of its own ("CRON_TZ=Europe/Berlin …").
// A time that the zone's clock skips, as when summer time begins, fires at the first moment
// after it, and one that the clock shows twice fires once; a schedule of every hour fires in
// every hour that passes. It fails for an expression that never fires, such as a 31st of
// February.
func Parse(expr string, zone *time.Location) (s cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some input
			s, err = nil, errNoSchedule(expr)
		}
	}()
	if s, err = cron.ParseStandard(expr); err != nil {
		return nil, errNoSchedule(expr) // the library's words are those of its code
	}
	hasZone := strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ=")
	if spec, ok := s.(*cron.SpecSchedule); ok {
		if !hasZone {
			spec.Location = zone
		}
		if spec.Hour&everyHour != everyHour {
			s = newDaily(*spec)
		}
	}
	if s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, zone)).IsZero() {
		return nil, fmt.Errorf("%q never fires", expr)
	}
	return s, nil
}

func errNoSchedule(expr string) error {
	return fmt.Errorf("%q is no schedule; write minute, hour, day of the month, month and day of the week, such as \"30 2 * * *\", or one such as \"@daily\"", expr)
}
