// Package crontab parses the schedules of the configuration.
//
// It promises that no expression panics, and that one which never fires is an error. It
// keeps no state.
package crontab

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Parse parses a cron expression of five fields, or a descriptor such as "@daily", in a
// time zone. It fails for an expression that never fires, such as a 31st of February.
func Parse(expr string, zone *time.Location) (s cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some input
			err = fmt.Errorf("parse %q: %v", expr, r)
		}
	}()
	if s, err = cron.ParseStandard(expr); err != nil {
		return nil, err
	}
	if spec, ok := s.(*cron.SpecSchedule); ok {
		spec.Location = zone
	}
	if s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, zone)).IsZero() {
		return nil, fmt.Errorf("%q never fires", expr)
	}
	return s, nil
}
