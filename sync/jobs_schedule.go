package syncer

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"minutebook/internal/crontab"
)

// The jobs of a schedule.
const (
	JobCatchUp   = "catch_up"
	JobBackfill  = "backfill"
	JobWalk      = "walk"
	JobRefresh   = "refresh"
	JobDirectory = "directory"
)

// Schedule holds a cron expression of five fields, or a descriptor such as
// "@hourly", for each job. A job with an empty expression runs only on request.
// A nil Location means UTC.
type Schedule struct {
	CatchUp   string
	Backfill  string
	Walk      string
	Refresh   string
	Directory string
	Location  *time.Location
}

// timetable is a job with its parsed expression.
type timetable struct {
	job  string
	cron cron.Schedule
}

// parse reads all expressions and reports every invalid one: those that do not
// parse, and those that never fire, such as a 31st of February.
func (s Schedule) parse() ([]timetable, error) {
	loc := s.Location
	if loc == nil {
		loc = time.UTC
	}
	var tables []timetable
	var errs []error
	for _, j := range []struct{ job, expr string }{
		{JobCatchUp, s.CatchUp}, {JobBackfill, s.Backfill}, {JobWalk, s.Walk},
		{JobRefresh, s.Refresh}, {JobDirectory, s.Directory},
	} {
		if j.expr == "" {
			continue
		}
		c, err := crontab.Parse(j.expr, loc)
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule of %s: %w", j.job, err))
			continue
		}
		tables = append(tables, timetable{job: j.job, cron: c})
	}
	return tables, errors.Join(errs...)
}

// jobs are the jobs that a schedule may have.
var jobs = []string{JobCatchUp, JobBackfill, JobWalk, JobRefresh, JobDirectory}

// schedule has the timetables in force. It is safe for concurrent use.
type schedule struct {
	mu     sync.Mutex // guards the fields below
	tables []timetable
	change chan struct{} // closed and replaced when tables are
}

func newSchedule(tables []timetable) *schedule {
	return &schedule{tables: tables, change: make(chan struct{})}
}

// all returns the timetables, which nobody changes, and a channel that is closed when there are
// others.
func (s *schedule) all() (tables []timetable, change <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables, s.change
}

// find returns the timetable of a job; ok is false when it runs only on request.
func (s *schedule) find(job string) (table timetable, ok bool) {
	table, _ = s.table(job)
	return table, table.cron != nil
}

// table returns the timetable of a job, which is empty when it runs only on request,
// and a channel that is closed when there is another schedule.
func (s *schedule) table(job string) (table timetable, change <-chan struct{}) {
	tables, change := s.all()
	for _, t := range tables {
		if t.job == job {
			table = t
		}
	}
	return table, change
}

// SetSchedule replaces the schedule, also while [Syncer.Run] and a job go on. It changes nothing
// when an expression does not parse or never fires, and where the schedule is the same: whoever
// waits for a time goes on.
func (s *Syncer) SetSchedule(next Schedule) error {
	tables, err := next.parse()
	if err != nil {
		return fmt.Errorf("set the schedule: %w", err)
	}
	s.schedule.mu.Lock()
	defer s.schedule.mu.Unlock()
	if reflect.DeepEqual(s.schedule.tables, tables) {
		return nil
	}
	s.schedule.tables = tables
	close(s.schedule.change)
	s.schedule.change = make(chan struct{})
	return nil
}

// next returns when the job runs after now, zero for an empty table.
func (t timetable) next(now time.Time) time.Time {
	if t.cron == nil {
		return time.Time{}
	}
	return t.cron.Next(now)
}

// hasMissed reports whether the job should have run between last and now. A job
// that never ran has missed its run, and so has one that a wrong clock dated in
// the future.
func (t timetable) hasMissed(last, now time.Time) bool {
	if last.IsZero() || last.After(now) {
		return true
	}
	next := t.cron.Next(last)
	return !next.IsZero() && !next.After(now)
}
