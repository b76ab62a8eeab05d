package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// How long a session lasts.
const (
	SessionIdle = 14 * 24 * time.Hour // without a request
	SessionLife = 90 * 24 * time.Hour // in all
	OIDCLife    = 24 * time.Hour      // in all, of one by OpenID Connect: then the provider is asked again
)

// seenEvery is the least time between two notes of when a session or token was last
// used, so that requests that only read cost no commit.
const seenEvery = 5 * time.Minute

// Method is the way in which a person signed in.
type Method string

// The methods.
const (
	MethodPassword Method = "password"
	MethodPasskey  Method = "passkey"
	MethodOIDC     Method = "oidc"
	MethodProxy    Method = "proxy"
)

// Session is one sign-in of a person, in one browser.
type Session struct {
	ID        int64     `json:"id"`
	Person    int64     `json:"person"`
	Method    Method    `json:"method"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"` // up to five minutes before the last request
	ExpiresAt time.Time `json:"expires_at"`
}

const sessionColumns = `s.id, s.person, s.method, s.created_at, s.seen_at, s.expires_at`

// sessionFields has the times of a row of sessionColumns.
type sessionFields struct{ created, seen, expires int64 }

func (f *sessionFields) targets(s *Session) []any {
	return []any{&s.ID, &s.Person, &s.Method, &f.created, &f.seen, &f.expires}
}

func (f *sessionFields) finish(s *Session) {
	s.CreatedAt, s.SeenAt, s.ExpiresAt = sqlite.Time(f.created), sqlite.Time(f.seen), sqlite.Time(f.expires)
}

// isOpen reports whether the session has not ended by itself.
func (s Session) isOpen(now time.Time) bool {
	return isCurrent(now, s.CreatedAt, s.ExpiresAt) && isCurrent(now, s.SeenAt, s.SeenAt.Add(SessionIdle))
}

// BeginSession begins a session of a person who has just signed in. The secret is
// for the cookie and is returned only here. It fails with [ErrOut] for a person who
// cannot enter, or of whom a way to sign in has ended since p was read: a password
// that was changed meanwhile opens nothing.
func (d *DB) BeginSession(ctx context.Context, p Person, method Method) (secret string, s Session, err error) {
	secret, hash := newSecret("")
	epoch, err := d.epoch(ctx)
	if err != nil {
		return "", Session{}, err
	}
	if err := d.CheckIn(ctx, p); err != nil {
		return "", Session{}, err
	}
	now, life := sqlite.Time(d.now().UnixMilli()), SessionLife
	if method == MethodOIDC {
		life = OIDCLife
	}
	s = Session{Person: p.ID, Method: method, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(life)}
	err = d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		// The condition is for a person who is removed or changed meanwhile.
		done, err := tx.ExecContext(ctx, `INSERT INTO sessions (hash, person, method, epoch, created_at, seen_at, expires_at)
			SELECT ?, id, ?, ?, ?, ?, ? FROM people WHERE id = ? AND removed_at IS NULL AND stamp = ?`,
			hash, method, epoch, now.UnixMilli(), now.UnixMilli(), s.ExpiresAt.UnixMilli(), p.ID, p.stamp)
		if err != nil {
			return fmt.Errorf("begin session: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrOut)
		}
		if s.ID, err = done.LastInsertId(); err != nil {
			return fmt.Errorf("begin session: %w", err)
		}
		return d.record(ctx, tx, Event{Actor: p.Actor(), Kind: SignedIn, IDs: IDs{Person: p.ID, Session: s.ID, Method: method}})
	})
	if err != nil {
		return "", Session{}, err
	}
	return secret, s, nil
}

// Session returns the session of a secret and its person. It fails with
// [ErrNoSession] for any secret that opens nothing now.
func (d *DB) Session(ctx context.Context, secret string) (Session, Person, error) {
	var s Session
	var p Person
	var times sessionFields
	var fields personFields
	var epoch string
	err := d.db.R.QueryRowContext(ctx, `SELECT s.epoch, `+sessionColumns+`, `+personColumns+`
		FROM sessions s JOIN people p ON p.id = s.person WHERE s.hash = ?`, hashSecret(secret)).
		Scan(append(append([]any{&epoch}, times.targets(&s)...), fields.targets(&p)...)...)
	if err != nil {
		return Session{}, Person{}, orElse(err, ErrNoSession)
	}
	times.finish(&s)
	if err := fields.finish(&p); err != nil {
		return Session{}, Person{}, fmt.Errorf("read person: %w", err)
	}
	current, err := d.epoch(ctx)
	if err != nil {
		return Session{}, Person{}, err
	}
	now := d.now()
	if epoch != current || !s.isOpen(now) {
		return Session{}, Person{}, ErrNoSession
	}
	if err := d.CheckIn(ctx, p); err != nil {
		return Session{}, Person{}, orElse(err, ErrNoSession)
	}
	d.noteSession(ctx, &s, now)
	p.session = s.ID
	return s, p, nil
}

// noteSession writes that the session is used, at most every five minutes. A
// failure is logged: with a full disk one can still read.
func (d *DB) noteSession(ctx context.Context, s *Session, now time.Time) {
	if now.Sub(s.SeenAt) < seenEvery {
		return
	}
	_, err := d.db.ExecContext(ctx, `UPDATE sessions SET seen_at = ?1 WHERE id = ?2 AND seen_at < ?1`, now.UnixMilli(), s.ID)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn().Err(err).Int64("session", s.ID).Msg("cannot write when the session was last used; it may end early")
		}
		return
	}
	s.SeenAt = sqlite.Time(now.UnixMilli())
}
