package notes

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Name is the name of the database in the data directory.
const Name = "notes.db"

// Owner is the person of an archive without sign-in.
const Owner int64 = 0

// The errors of this package, besides [archive.ErrNotFound] and [archive.ErrForgotten].
var (
	ErrText    = fmt.Errorf("write a note of 1 to %d characters", maxText)
	ErrNames   = fmt.Errorf("name 2 to %d different names or addresses of the person, of at most %d characters each", maxNames, maxName)
	ErrSearch  = fmt.Errorf("a saved search has a name of 1 to %d and a query of 1 to %d characters", maxName, maxQuery)
	ErrExists  = errors.New("there is a saved search with this name already: choose another one")
	ErrAddress = errors.New("notifications go to an http or https address, or to mailto: and an e-mail address")
	ErrChanged = errors.New("it was changed meanwhile: read it again")
	ErrMany    = fmt.Errorf("a person has at most %d saved searches: delete one first", maxSaved)
)

// Bounds of a person's additions, in characters.
const (
	maxText  = 20_000
	maxName  = 300
	maxQuery = 2_000
	maxNames = 50  // of one judgement
	maxSaved = 200 // of a person
)

// Options are the archive of a DB and its clock.
type Options struct {
	Archive *archive.Archive
	Now     func() time.Time // that of the archive when nil
}

// DB is the open notes.db. It is safe for concurrent use. It belongs to its archive and
// is closed with it.
type DB struct {
	archive *archive.Archive
	db      *sqlite.DB
	now     func() time.Time

	mu     sync.Mutex    // guards groups and ticks
	groups *Groups       // nil: to be read again
	ticks  map[Item]Tick // likewise
}

// Migrations returns the migrations of notes.db.
func Migrations() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the path is a constant and embedded
	}
	return files
}

// Open opens notes.db in the archive's data directory, or creates it. From then on
// forgetting a meeting erases its rows here.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = o.Archive.Now
	}
	db, err := o.Archive.SideDB(ctx, Name, Migrations(), nil)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", Name, err)
	}
	d := &DB{archive: o.Archive, db: db, now: o.Now}
	o.Archive.OnForget(Name, d.forget)
	return d, nil
}

type guardKey struct{}

// Guarded returns a context whose writes are done by guard: it calls write while nothing can
// take the right to write from the person who asked, or fails without calling it. guard may
// not use the DB.
func Guarded(ctx context.Context, guard func(ctx context.Context, write func() error) error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

// write runs fn in a write transaction, within the guard of the context.
func (d *DB) write(ctx context.Context, action string, fn func(*sql.Tx) error) (err error) {
	write := func() error { return d.db.WriteTx(ctx, fn) }
	if guard, ok := ctx.Value(guardKey{}).(func(context.Context, func() error) error); ok {
		err = guard(ctx, write)
	} else {
		err = write()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}

// checkMeeting fails unless the archive has a meeting. It is called within a write
// transaction: see the package's comment.
func (d *DB) checkMeeting(ctx context.Context, id int64) error {
	_, err := d.archive.Row(ctx, id)
	return err
}

// expectRow fails with [archive.ErrNotFound] when a statement changed no row.
func expectRow(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return archive.ErrNotFound
}

// toMillis returns an offset into a recording as it is stored; a negative one is -1.
func toMillis(at time.Duration) int64 {
	if at < 0 {
		return -1
	}
	return at.Milliseconds()
}

// fromMillis is the reverse of toMillis.
func fromMillis(ms int64) time.Duration {
	if ms < 0 {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}
