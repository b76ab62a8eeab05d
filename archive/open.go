package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/archive/merge"
	"minutebook/internal/bucket"
	"minutebook/internal/sqlite"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// archiveMigrations are those of archive.db, all rooms' together.
func archiveMigrations() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the path is a constant and embedded
	}
	return sub
}

// Options say which archive to open.
type Options struct {
	Dir      string // the data directory
	Create   bool   // create the directory and the archive when missing
	MediaURL string // "" and "file:" keep recordings in Dir/media
	// MediaLine leads to the bucket of the recordings.
	MediaLine bucket.Line
	// Schemas are the migrations of the databases that [Archive.SideDB] opens later, by their
	// names. With them, Open refuses the databases that SideDB would refuse.
	Schemas map[string]fs.FS
	Logger  zerolog.Logger
	Now     func() time.Time // time.Now when nil
	// Running is how long this process has run, by a clock that nobody sets. When nil, it
	// is measured with Now, whose readings are monotonic unless a test makes them.
	Running func() time.Duration
	// ReportInterval is how often Open logs how far work is that takes long; 0 stands for
	// [sqlite.ReportInterval].
	ReportInterval time.Duration
}

// Archive is an open data directory. It is owned by this process until Close
// and is safe for concurrent use.
type Archive struct {
	dir   string
	log   zerolog.Logger
	now   func() time.Time
	lock  *DirLock
	db    *sqlite.DB
	media media.Store
	inbox *inbox.Inbox
	codec *codec
	head  changeLog
	order readOrder

	mediaDir string // of the store; "" for a bucket
	identity string // the first epoch, by which a store knows whose recordings it keeps

	judged *recent[judgedKey, judgement]
	gists  *recent[[32]byte, merge.Gist] // by the hash of the version
	merged *recent[int64, mergedPart]    // by recording_id

	reports sqlite.MigrationReports // that are logged

	watch       *sqlite.Watch // of db
	principals  *sqlite.Memo[[]string]
	crm         *sqlite.Memo[[]string]
	deactivated *sqlite.Memo[bool]
	counts      *sqlite.Memo[Counts]        // of all meetings
	holds       *sqlite.Memo[RetentionHold] // with the counts only
	mediaSize   *sqlite.Memo[int64]

	mu      sync.Mutex // guards side, erasers, erased, cleared, copying, storing and closed
	side    []*sqlite.DB
	erasers []eraser
	erased  map[int64]Forgotten // meetings of which only logs that are read still hold something
	cleared map[int64]bool      // meetings of which all but the recordings is erased
	copying map[*copying]bool   // works that UntilForget has begun
	storing map[string]int      // works that BeginStoring has begun, by SHA-256
	closed  bool

	buckets sync.Map // the works that [Archive.LockBuckets] holds
	// These five are held while a bucket or a slow disk is waited for: who wants them waits no longer
	// than its context allows.
	opening    *semaphore.Weighted // of 1; held while a side database is opened, or the archive closed
	backups    *semaphore.Weighted // of 1; held while the list of forgotten meetings is written into a directory of backups
	forgetting *semaphore.Weighted // of copyingWeight; 1 is held while something is erased, all while a copying begins
	blobs      *semaphore.Weighted // of 1; held while a blob's references are counted and acted upon

	retention *semaphore.Weighted // of 1; held while the state of the retention rules or the confirmed clock changes

	clockRead time.Duration        // running when the confirmed clock was last updated; below 0: never
	running   func() time.Duration // of this process, by a clock that nobody sets
	moved     atomic.Pointer[MovedMeetings]
	answer    atomic.Pointer[serviceAnswer] // nil: none yet
}

// Open takes ownership of the data directory, brings its databases to the
// newest schema and reads the change log's head. It fails with ErrInUse, ErrNoArchive,
// ErrForeignFiles or [sqlite.ErrNewer], and leaves the databases as they were. With ErrDamaged
// the databases before the damaged one may have been migrated.
func Open(ctx context.Context, o Options) (_ *Archive, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	path := filepath.Join(dir, "archive.db")
	if err := prepareDir(dir, path, o.Create); err != nil {
		return nil, err
	}
	a := &Archive{dir: dir, log: o.Logger, now: o.Now, clockRead: -1,
		// when full, 2 MB each of the first two, and 3 MB of the third at most
		judged: newRecent[judgedKey, judgement](16384), gists: newRecent[[32]byte, merge.Gist](16384), merged: newRecent[int64, mergedPart](1024),
		erased: map[int64]Forgotten{}, cleared: map[int64]bool{}, copying: map[*copying]bool{}, storing: map[string]int{},
		opening: semaphore.NewWeighted(1), backups: semaphore.NewWeighted(1), forgetting: semaphore.NewWeighted(copyingWeight), blobs: semaphore.NewWeighted(1), retention: semaphore.NewWeighted(1)}
	if a.running = o.Running; a.running == nil {
		opened := a.now()
		a.running = func() time.Duration { return a.now().Sub(opened) }
	}
	a.reports = sqlite.MigrationReports{Interval: cmp.Or(o.ReportInterval, sqlite.ReportInterval), Report: a.logMigration}
	if a.lock, err = LockDir(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.Close()
			err = markDamaged(err)
		}
	}()
	if err = refuseLost(dir); err != nil {
		return nil, err
	}
	a.reportModes(ctx)
	a.reportLocks(ctx)
	if err = a.prepareMigrations(ctx, o.Schemas); err != nil {
		return nil, err
	}
	return a, a.openStores(ctx, path, o)
}

// reportLocks logs which databases another program has locked, before the long wait for them.
func (a *Archive) reportLocks(ctx context.Context) {
	for _, name := range []string{"archive.db", "inbox.db"} {
		if err := sqlite.CheckLock(ctx, filepath.Join(a.dir, name), time.Second); errors.Is(err, sqlite.ErrLocked) {
			a.log.Warn().Str("database", name).Msg("another program has locked a database; waiting up to 10 s")
		}
	}
}

// openStores opens the database, the recordings and the inbox, and clears away the
// leftovers of a crash.
func (a *Archive) openStores(ctx context.Context, path string, o Options) (err error) {
	if err := a.openDatabase(ctx, path); err != nil {
		return err
	}
	if a.media, err = media.Open(a.dir, o.MediaURL, o.MediaLine); err != nil {
		return err
	}
	lineage, err := a.Lineage(ctx)
	if err != nil {
		return err
	}
	media.SetOwner(a.media, lineage[0], a.expectsBlob)
	a.mediaDir, a.identity = media.Dir(a.media), lineage[0]
	if err := a.noteStore(ctx); err != nil {
		return err
	}
	if err := a.openInbox(ctx); err != nil {
		return err
	}
	return a.sweepLeftovers(ctx)
}

// openDatabase opens and migrates the database, and decides again about meetings that
// older rules have merged.
func (a *Archive) openDatabase(ctx context.Context, path string) (err error) {
	if a.codec, err = newCodec(); err != nil {
		return err
	}
	if a.db, err = sqlite.Open(ctx, path); err != nil {
		return err
	}
	if err := a.db.Migrate(ctx, archiveMigrations(), a.reports); err != nil {
		return err
	}
	if a.watch, err = a.db.NewWatch(ctx); err != nil {
		return err
	}
	a.counts, a.holds, a.mediaSize = sqlite.NewMemo[Counts](a.watch), sqlite.NewMemo[RetentionHold](a.watch), sqlite.NewMemo[int64](a.watch)
	a.principals, a.crm, a.deactivated = sqlite.NewMemo[[]string](a.watch), sqlite.NewMemo[[]string](a.watch), sqlite.NewMemo[bool](a.watch)
	if err := a.loadEpoch(ctx); err != nil {
		return err
	}
	if err := a.loadOrder(ctx); err != nil {
		return err
	}
	return a.remerge(ctx)
}

// logMigration logs how far the migration of a database is: a large one takes minutes, in
// which nothing answers.
func (a *Archive) logMigration(p sqlite.MigrationProgress) {
	name := filepath.Base(p.Path)
	switch p.Stage {
	case sqlite.CopiesDropped:
		a.log.Warn().Str("database", name).Strs("copies", p.Dropped).Msg("the disk had no room for another copy of a database: those from before earlier upgrades are deleted")
	case sqlite.CopyBegins:
		a.log.Info().Str("database", name).Int64("schema", p.To).Int64("bytes", p.Size).Msg("copying a database of an earlier version before it is migrated; to stop now changes nothing")
	case sqlite.Copying:
		a.log.Info().Str("database", name).Int64("copied", p.Copied).Int64("bytes", p.Size).Dur("remaining", p.Remaining()).Msg("copying")
	case sqlite.Copied:
		a.log.Info().Str("database", name).Dur("took", p.Elapsed).Msg("copied; the database is migrated now; to stop now changes nothing")
	case sqlite.Migrating:
		a.log.Info().Str("database", name).Dur("elapsed", p.Elapsed).Int("step", p.Step).Int("steps", p.Steps).Msg("migrating")
	case sqlite.Migrated:
		a.log.Info().Str("database", name).Dur("took", p.Elapsed).Msg("migrated")
	}
}

// loadEpoch reads the epoch, or begins the first one.
func (a *Archive) loadEpoch(ctx context.Context) error {
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		epoch := newEpoch()
		_, err := tx.ExecContext(ctx, `INSERT INTO info (name, value) VALUES ('epoch', ?), ('created_at', ?)
			ON CONFLICT (name) DO NOTHING`, epoch, a.now().UTC().Format(time.RFC3339))
		if err != nil {
			return fmt.Errorf("begin epoch: %w", err)
		}
		if err := tx.QueryRowContext(ctx, `SELECT value FROM info WHERE name = 'epoch'`).Scan(&epoch); err != nil {
			return fmt.Errorf("read epoch: %w", err)
		}
		seq, err := lastSeq(ctx, tx)
		a.head.start(Position{Epoch: epoch, Seq: seq})
		return err
	})
}

func newEpoch() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Close closes everything, and the directory's lock last. A second Close does nothing.
func (a *Archive) Close() error {
	if err := a.opening.Acquire(context.Background(), 1); err != nil { // a context that never ends
		return err
	}
	defer a.opening.Release(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	a.head.close()
	var errs []error
	if a.inbox != nil {
		errs = append(errs, a.inbox.Close())
	}
	for i := len(a.side) - 1; i >= 0; i-- {
		errs = append(errs, a.side[i].Close())
	}
	if a.watch != nil {
		errs = append(errs, a.watch.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	errs = append(errs, giveToOwner(a.dir, a.media), a.lock.Release())
	return errors.Join(errs...)
}

// Dir is the absolute path of the data directory.
func (a *Archive) Dir() string { return a.dir }

// Now returns the time by the archive's clock.
func (a *Archive) Now() time.Time { return a.now() }

// DB is the archive's own database, for the files of this package.
func (a *Archive) DB() *sqlite.DB { return a.db }

// SideDB opens, creating it when missing, another database of the data
// directory, such as service.db, and brings it to the newest of the given
// migrations (*.sql at the root of the file system). It is closed with the
// archive and is part of backup, verify and forget. Opening a name twice fails. Where
// prepare, which may be nil, fails with the database, it is not open.
func (a *Archive) SideDB(ctx context.Context, name string, migrations fs.FS, prepare func(*sqlite.DB) error) (*sqlite.DB, error) {
	if name != filepath.Base(name) || filepath.Ext(name) != ".db" {
		return nil, fmt.Errorf("open side database: %q is not a plain *.db name", name)
	}
	if err := a.opening.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("open side database: %w", err)
	}
	defer a.opening.Release(1)
	path := filepath.Join(a.dir, name)
	a.mu.Lock()
	closed, side := a.closed, a.side
	a.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case path == a.db.Path:
		return nil, fmt.Errorf("open side database: %s is the archive itself", name)
	case slices.ContainsFunc(side, func(db *sqlite.DB) bool { return db.Path == path }):
		return nil, fmt.Errorf("open side database: %s is open already", name)
	}
	if err := a.refuseLostDB(ctx, name); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, markDamaged(err)
	}
	if err := db.Migrate(ctx, migrations, a.reports); err != nil {
		return nil, markDamaged(errors.Join(err, db.Close()))
	}
	if err := a.noteCreated(ctx, name); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if prepare != nil {
		if err := prepare(db); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.side = append(a.side, db)
	return db, nil
}

// openInbox opens the inbox of an archive; Close ends its writer.
func (a *Archive) openInbox(ctx context.Context) error {
	const name = "inbox.db"
	if err := a.refuseLostDB(ctx, name); err != nil {
		return err
	}
	i, err := inbox.Open(ctx, filepath.Join(a.dir, name), inbox.Options{Create: true, Reports: a.reports, Logger: a.log, Now: a.now, ConfirmedTime: a.ConfirmedTime, IsForgotten: a.isForgotten})
	if err != nil {
		return err
	}
	a.inbox = i
	a.mu.Lock()
	a.side = append(a.side, i.DB())
	a.mu.Unlock()
	return a.noteCreated(ctx, name)
}

// Inbox is where deliveries wait until they are applied.
func (a *Archive) Inbox() *inbox.Inbox { return a.inbox }
