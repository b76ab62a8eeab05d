package sqlite

import (
	"context"
	"os"
	"time"
)

// MigrationStage is where the migration of a database stands.
type MigrationStage int

// The stages of a migration, in their order. Copying and Migrating are reported again and
// again, each other one once. CopiesDropped comes only where copies were deleted, and can be
// the last one: a deleted copy may free less than its size.
const (
	CopiesDropped MigrationStage = iota
	CopyBegins
	Copying
	Copied // the transaction begins
	Migrating
	Migrated
)

// MigrationProgress is how far the migration of a database is.
type MigrationProgress struct {
	Path    string
	To      int64 // schema version
	Stage   MigrationStage
	Dropped []string // copies from before earlier migrations, deleted because the disk had no room for another one
	Copied  int64    // bytes
	Size    int64    // bytes of the database; the copy can be smaller
	Step    int      // of the transaction, from 1; 0 before it
	Steps   int
	Elapsed time.Duration // since the copy, or the transaction, began
}

// Remaining returns how long the rest of the copy takes at the speed until now, 0 where
// that is not known yet. The transaction comes afterwards. Nothing tells how long that takes: a
// step can read and write everything, or nothing but the schema.
func (p MigrationProgress) Remaining() time.Duration { return Remaining(p.Elapsed, p.Copied, p.Size) }

// Remaining returns how long the rest of some work takes at the speed until now, 0 where
// that is not known yet.
func Remaining(elapsed time.Duration, done, total int64) time.Duration {
	if done <= 0 || done >= total {
		return 0
	}
	return time.Duration(float64(elapsed) * float64(total-done) / float64(done)).Round(time.Second)
}

// ReportInterval is how often the work before the program serves is reported.
const ReportInterval = 5 * time.Second

// MigrationReports say to whom a migration is reported, and how often. The zero value reports
// nothing.
type MigrationReports struct {
	Interval time.Duration // between two reports of the same stage, above 0
	Report   func(MigrationProgress)
}

// report reports that a stage has come.
func (r MigrationReports) report(p *MigrationProgress, stage MigrationStage) {
	if p.Stage = stage; r.Report != nil {
		r.Report(*p)
	}
}

// during does the work of a stage and reports it at each interval, for which look brings the
// progress up to date.
func (r MigrationReports) during(p *MigrationProgress, stage MigrationStage, look func(), work func() error) error {
	if r.Report == nil {
		return work()
	}
	began, done := time.Now(), make(chan error, 1)
	go func() { done <- work() }()
	tick := time.NewTicker(r.Interval)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			p.Elapsed = time.Since(began)
			return err
		case <-tick.C:
			p.Elapsed = time.Since(began)
			look()
			r.report(p, stage)
		}
	}
}

// copyReporting copies the database for a migration. It first makes sure that the copy
// has room.
func (db *DB) copyReporting(ctx context.Context, to string, p *MigrationProgress, reports MigrationReports) error {
	var err error
	if p.Size, err = readSize(ctx, db.R, db.Path); err != nil {
		return err
	}
	if p.Dropped, err = makeRoom([]Pending{{db.Path, p.Size}}); len(p.Dropped) > 0 {
		reports.report(p, CopiesDropped)
	}
	if err != nil {
		return err
	}
	reports.report(p, CopyBegins)
	look := func() {
		if info, err := os.Stat(to); err == nil {
			p.Copied = info.Size()
		}
	}
	return reports.during(p, Copying, look, func() error { return db.CopyTo(ctx, to) })
}
