package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"minutebook/internal/diskspace"
)

// MigrationProgress is how far the copy of a database that is migrated is.
type MigrationProgress struct {
	Path    string
	To      int64 // schema version
	Copied  int64 // bytes; about Size when the copy is whole
	Size    int64 // bytes of the database
	Elapsed time.Duration
}

// Remaining returns how long the rest of the copy takes at the speed until now, 0 where
// that is not known yet. The migration itself comes afterwards.
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

const migrationSpare = 64 << 20 // bytes that stay free beside the copy

// copyReporting copies the database for a migration. It first makes sure that the copy
// has room, without the copies from before earlier migrations where they take it.
func (db *DB) copyReporting(ctx context.Context, to string, version int64, report func(MigrationProgress)) error {
	p := MigrationProgress{Path: db.Path, To: version}
	if err := db.R.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&p.Size); err != nil {
		return fmt.Errorf("read the size of %s: %w", db.Path, err)
	}
	need := p.Size + migrationSpare
	if err := checkRoom(db.Path, need); err != nil {
		if _, err := db.DropCopies(); err != nil {
			return err
		}
		if err := checkRoom(db.Path, need); err != nil {
			return err
		}
	}
	if report == nil {
		return db.CopyTo(ctx, to)
	}
	began, done := time.Now(), make(chan error, 1)
	report(p)
	go func() { done <- db.CopyTo(ctx, to) }()
	tick := time.NewTicker(ReportInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if p.Elapsed = time.Since(began); err == nil {
				p.Copied = p.Size
				report(p)
			}
			return err
		case <-tick.C:
			if info, err := os.Stat(to); err == nil {
				p.Copied, p.Elapsed = info.Size(), time.Since(began)
				report(p)
			}
		}
	}
}

// checkRoom fails with [ErrDiskFull] when the disk of a file has less than need bytes free.
func checkRoom(path string, need int64) error {
	free, _, err := diskspace.Read(filepath.Dir(path))
	if err != nil {
		return err
	}
	if free < need {
		return fmt.Errorf("migrate %s: %w: it is copied first, which takes %d MB, and %d MB are free; free some space, or run the earlier version", path, ErrDiskFull, need>>20, free>>20)
	}
	return nil
}
