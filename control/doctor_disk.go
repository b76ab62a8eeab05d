package control

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/archive/notes"
	"minutebook/internal/diskspace"
	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
	"minutebook/service"
)

// examineDisk measures the disk of the data directory.
func (e *examination) examineDisk(ctx context.Context) {
	dir := e.h.Archive.Dir()
	e.judgeWrites(measureSync(dir))
	// Without a size measureSync has reported it; without samples there is no forecast.
	if disk, _ := e.h.disk(ctx); disk.Size > 0 {
		daily := int64(0)
		if recordings := e.h.Archive.MediaDir(); isSameDisk(dir, recordings) {
			daily = recentGrowth(recordings, time.Now())
		}
		e.examineSpace(disk, daily, e.h.Archive.Now())
	}
}

// examineOtherDisk says whether the disk of a directory is nearly full, unless it is that of the
// data directory.
func (e *examination) examineOtherDisk(subject, dir string) {
	disk := Disk{}
	var err error
	if disk.Free, disk.Size, err = diskspace.Read(dir); err != nil || disk.Free >= disk.leastFree() || isSameDisk(dir, e.h.Archive.Dir()) {
		return // a directory that cannot be read is named elsewhere
	}
	e.add(subject, SeverityWarning, "free some space on the disk of "+dir, "its disk is nearly full: %s are free", humanize.Bytes(uint64(disk.Free)))
}

// isSameDisk reports whether two directories are of one file system.
func isSameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}

// judgeWrites adds the finding of the time within which 99 of 100 writes reach the disk, or of
// the error of a write.
func (e *examination) judgeWrites(p99 time.Duration, err error) {
	switch {
	case err != nil:
		e.add("disk", SeverityError, "is the disk full, or read-only?", "nothing can be written: %v", err)
	case p99 > fsyncWarning:
		e.add("disk", SeverityWarning, "use a faster disk for data_dir, or expect slow answers to deliveries", "99 of 100 writes reach it within %s", p99.Round(time.Millisecond))
	default:
		e.add("disk", SeverityOK, "", "99 of 100 writes reach it within %s", max(100*time.Microsecond, p99.Round(100*time.Microsecond)))
	}
}

// examineSpace says whether a disk is nearly full, and else how long its free bytes last: at
// a number of bytes a day, or until its forecast, whichever ends first.
func (e *examination) examineSpace(disk Disk, daily int64, now time.Time) {
	free, remedy := humanize.Bytes(uint64(disk.Free)), "free some space, or set [[retention.rules]]"
	if disk.Free < disk.leastFree() {
		e.add("disk", SeverityWarning, remedy, "it is nearly full: %s are free, and without room nothing is received and fetched", free)
		return
	}
	const day = 24 * time.Hour
	days, pace := int64(math.MaxInt64), ""
	if daily > 0 {
		days, pace = disk.Free/daily, humanize.Bytes(uint64(daily))+" a day of the last month"
	}
	if left := int64(disk.FullAt.Sub(now) / day); !disk.FullAt.IsZero() && left < days {
		days, pace = left, "pace of the last days"
	}
	if pace == "" {
		e.add("disk", SeverityOK, "", "%s are free", free)
		return
	}
	s, enough := SeverityWarning, phrase.Count(days, "day", "days")
	if days >= int64(fullWithin/day) {
		s, remedy = SeverityOK, ""
	}
	if days > 365 {
		enough = "more than a year"
	}
	e.add("disk", s, remedy, "%s are free: enough for %s at the %s", free, enough, pace)
}

// growthDays is the time over which the growth of an archive is measured.
const growthDays = 30

// recentGrowth returns the bytes a day of the recordings in a directory that came within the last
// [growthDays], by the times of their files.
func recentGrowth(dir string, now time.Time) (daily int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // an unreadable file does not count
		}
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) < growthDays*24*time.Hour {
			daily += info.Size()
		}
		return nil
	})
	return daily / growthDays
}

// measureSync returns the time within which 99 of 100 small writes are on the disk.
func measureSync(dir string) (p99 time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block, times := make([]byte, 4096), make([]time.Duration, fsyncTries)
	for i := range times {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times[len(times)*99/100], nil
}

// examineBackupPlace asks the bucket to which backups go whether it can be used, unless
// offline, and looks at their directory, and at the keys that prove them.
func (e *examination) examineBackupPlace(ctx context.Context, offline bool) {
	if _, err := ReadIdentities(e.h.Proof.Identity); err != nil {
		e.add("keys of the backups", SeverityError, "correct the reason, or backup.identity_file: no encrypted backup is proved until then", "they cannot be read: %v", err)
	}
	place, err := generation.OpenPlace(e.h.Proof.From)
	if dir := generation.LocalDir(place); err == nil && dir != "" {
		e.examineBackupDir(ctx, dir)
	}
	if e.h.Proof.From == "" || offline || err == nil && generation.LocalDir(place) != "" {
		return
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, bucketTime)
		defer cancel()
		err = generation.Ask(ctx, place)
	}
	if err == nil {
		e.add("bucket of the backups", SeverityOK, "", "it can be listed")
		return
	}
	e.add("bucket of the backups", SeverityError, "correct the reason, or [backup] to: no backup is made until then", "it cannot be used: %v", err)
}

// examineBackupDir looks whether the directory of the backups can be written. The first
// backup makes it; afterwards it is missing when its disk is not mounted.
func (e *examination) examineBackupDir(ctx context.Context, dir string) {
	const subject = "directory of the backups"
	const remedy = "mount its disk, let the daemon's user write there (with systemd: ReadWritePaths=-/PATH), or correct [backup] to: no backup is made until then"
	u, err := e.h.UpkeepState(ctx, UpkeepBackup)
	if err != nil {
		e.add(subject, SeverityError, "see what is damaged with `minutebook verify`", "whether it was used cannot be read: %v", err)
		return
	}
	info, err := os.Stat(dir)
	above := dir
	for errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above) {
		above = filepath.Dir(above)
		info, err = os.Stat(above)
	}
	switch {
	case err == nil && !info.IsDir():
		e.add(subject, SeverityError, remedy, "%s is no directory", above)
	case err == nil && unix.Access(above, unix.W_OK|unix.X_OK) != nil:
		e.add(subject, SeverityError, remedy, "nothing can be written into %s: %v", above, unix.Access(above, unix.W_OK|unix.X_OK))
	case err != nil:
		e.add(subject, SeverityError, remedy, "it cannot be read: %s", phrase.Error(err))
	case above == dir:
		e.add(subject, SeverityOK, "", "%s can be written", dir)
		e.examineOtherDisk(subject, dir)
	case !u.Succeeded.IsZero():
		e.add(subject, SeverityError, remedy, "%s is not there, and backups were made", dir)
	default:
		e.add(subject, SeverityNote, "", "%s is not there yet; the first backup makes it", dir)
	}
}

// RemedyOf says what to do about a database that cannot be opened or read.
func RemedyOf(err error) string {
	switch {
	case errors.Is(err, archive.ErrDamaged):
		return "see what is damaged with `minutebook verify`, or restore a backup"
	case errors.Is(err, sqlite.ErrNewer):
		return "run the Minutebook that wrote it, or a newer one; nothing is damaged"
	case errors.Is(err, sqlite.ErrLocked):
		return "end that program, such as sqlite3 or one that copies the file; nothing is damaged"
	case errors.Is(err, archive.ErrInUse):
		return "wait until the process that has it has started, or stop it"
	case errors.Is(err, archive.ErrNoArchive):
		return "create it with `minutebook init`, or correct data_dir"
	}
	return "correct what the error names, such as the room, the owner or the mount of data_dir; nothing is known to be damaged"
}

// examineDatabases opens the databases that a status does not read, where they are.
func (e *examination) examineDatabases(ctx context.Context) {
	for name, open := range map[string]func() error{
		service.DatabaseName: func() error { _, err := e.h.Service(ctx); return err },
		notes.Name:           func() error { _, err := e.h.Notes(ctx); return err },
	} {
		if _, err := os.Stat(filepath.Join(e.h.Archive.Dir(), name)); err != nil {
			continue
		}
		if err := open(); err != nil {
			e.add("databases", SeverityError, RemedyOf(err), "%s cannot be opened: %s", name, phrase.Error(err))
		}
	}
}

// lockPatience is how long doctor waits for a database that is being written.
const lockPatience = 3 * time.Second

// examineLocks looks for databases that another program keeps from being written. It reports
// whether the calls of accounts, which are counted in one of them, can be tried.
func (e *examination) examineLocks(ctx context.Context, patience time.Duration) (callable bool) {
	names, _ := fs.Glob(os.DirFS(e.h.Archive.Dir()), "*.db") // the pattern is right
	callable = true
	for _, name := range names {
		if err := sqlite.CheckLock(ctx, filepath.Join(e.h.Archive.Dir(), name), patience); errors.Is(err, sqlite.ErrLocked) {
			callable = false
			e.add("databases", SeverityError, RemedyOf(err), "nothing is received, and no account is tried here: %v", err)
		}
	}
	return callable
}
