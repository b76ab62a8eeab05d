package access

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Name is the name of the database in the data directory.
const Name = "access.db"

// The errors of this package. Their texts can be shown to the person who caused
// them: none says more than that person knows.
var (
	ErrNotFound    = errors.New("there is no such person")
	ErrExists      = errors.New("a person with this address exists already")
	ErrAddress     = errors.New("this is no e-mail address")
	ErrLastAdmin   = errors.New("this is the last admin: make another person admin first")
	ErrLastAddress = errors.New("this is the only address of the person: add another one first, or remove the person")
	ErrOut         = errors.New("this person was removed, or is deactivated in the service's directory")

	ErrUnknown = errors.New("this invitation is not known here: ask an admin for a new one")
	ErrUsed    = errors.New("this invitation was used, or a newer one replaced it: sign in, or ask an admin for a new one")
	ErrExpired = errors.New("this invitation has expired: ask an admin for a new one")

	ErrPassword  = fmt.Errorf("a password has %d to %d bytes: choose another one", MinPassword, MaxPassword)
	ErrSignIn    = errors.New("the address or the password is wrong")
	ErrNoSession = errors.New("nobody is signed in: sign in")
	ErrNoToken   = errors.New("this token is not valid: make a new one")
	ErrScope     = errors.New("a token has one or more of the scopes read, export and admin")
	ErrNotAdmin  = errors.New("only an admin can have a token with the scope admin")
	ErrLifetime  = errors.New("a token ends in the future, and within ten years")
)

// Options are the archive of a DB and its clock.
type Options struct {
	Archive *archive.Archive
	Now     func() time.Time // time.Now when nil
	// AccountKeys encrypt the secrets of the accounts that people connect: the first
	// key encrypts new secrets, the others decrypt those stored earlier. Without any, nobody connects an account.
	AccountKeys [][]byte
	// EndOutlets ends the feeds and webhooks of a person's saved searches, which lie in
	// another file, before the commit that ends the person's secrets. It may not use the DB.
	EndOutlets func(ctx context.Context, person int64) error // nil: there are none
	Logger     zerolog.Logger
}

// DB is the open access.db. It is safe for concurrent use. It belongs to its
// archive and is closed with it.
type DB struct {
	archive *archive.Archive
	db      *sqlite.DB
	now     func() time.Time
	log     zerolog.Logger
	hashing chan struct{} // one element for each password that is computed
	keys    []accountKey
	bell    *bell // rings at every change of people

	endOutlets func(ctx context.Context, person int64) error // nil: there are none
}

// Migrations returns the migrations of access.db.
func Migrations() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the path is a constant and embedded
	}
	return files
}

// Open opens access.db in the archive's data directory, or creates it.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &DB{archive: o.Archive, now: o.Now,
		log: o.Logger.With().Str("room", "access").Logger(), hashing: make(chan struct{}, maxHashing), bell: newBell(), endOutlets: o.EndOutlets}
	for _, raw := range o.AccountKeys {
		key, err := newAccountKey(raw)
		if err != nil {
			return nil, err
		}
		d.keys = append(d.keys, key)
	}
	_, err := o.Archive.SideDB(ctx, Name, Migrations(), func(db *sqlite.DB) error {
		d.db = db
		if err := d.renewSecrets(ctx); err != nil {
			return err
		}
		return d.noteEpoch(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", Name, err)
	}
	return d, nil
}

// noteEpoch remembers the archive's epoch, and records a restore when it is another
// one than before.
func (d *DB) noteEpoch(ctx context.Context) error {
	epoch, err := d.epoch(ctx)
	if err != nil {
		return err
	}
	var recorded string
	err = d.db.R.QueryRowContext(ctx, `SELECT epoch FROM known_epoch`).Scan(&recorded)
	if err == nil && recorded == epoch {
		return nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read the epoch of %s: %w", Name, err)
	}
	lineage, err := d.archive.Lineage(ctx)
	if err != nil {
		return err
	}
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO known_epoch (one, epoch) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch`, epoch)
		if err != nil {
			return fmt.Errorf("note the epoch of %s: %w", Name, err)
		}
		if err := skipNumbers(ctx, tx, len(lineage)-1); err != nil || recorded == "" { // the database is new
			return err
		}
		return d.record(ctx, tx, Event{Actor: ActorCommand, Kind: Restored})
	})
}

// peopleOfAnEpoch is more than the people who come between two restores.
const peopleOfAnEpoch = 10_000

// skipNumbers has the people of each epoch numbered apart, after some restores: the other
// databases of a backup may be of a later moment than this one, which may be lost even, and
// their private notes name people by their numbers.
func skipNumbers(ctx context.Context, tx *sql.Tx, restores int) error {
	if restores == 0 {
		return nil
	}
	for _, step := range []string{
		`INSERT INTO sqlite_sequence (name, seq) SELECT 'people', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'people')`,
		`UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'people'`,
	} {
		if _, err := tx.ExecContext(ctx, step, restores*peopleOfAnEpoch); err != nil {
			return fmt.Errorf("skip the numbers of people: %w", err)
		}
	}
	return nil
}

// Now returns the time by which everything here begins and ends.
func (d *DB) Now() time.Time { return d.now() }

// epoch returns the archive's epoch, to which sessions and invitations are bound.
func (d *DB) epoch(ctx context.Context) (string, error) {
	head, err := d.archive.Head(ctx)
	return head.Epoch, err
}

// clockSlack is how far a clock may be set back without ending sessions, invitations and tokens.
const clockSlack = 5 * time.Minute

// isCurrent reports whether now is between a beginning and an end. A clock that
// stands well before the beginning was set back; nothing that began then is valid, as
// nobody can say how long ago that was.
func isCurrent(now, begin, end time.Time) bool {
	return now.Before(end) && !now.Before(begin.Add(-clockSlack))
}
