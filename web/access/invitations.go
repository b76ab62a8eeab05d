package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"minutebook/internal/sqlite"
)

// InvitationLife is how long an invitation can be accepted.
const InvitationLife = 72 * time.Hour

// InvitationPath is the path of the page that accepts an invitation: its secret
// follows.
const InvitationPath = "/invitation?secret="

// Invite makes an invitation for a person, with which a password is set: the first
// one or another one. It replaces the person's older invitations. The secret is
// returned only here.
func (d *DB) Invite(ctx context.Context, by Actor, person int64) (secret string, expires time.Time, err error) {
	secret, hash := newSecret("")
	epoch, err := d.epoch(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	now := d.now()
	expires = sqlite.Time(now.Add(InvitationLife).UnixMilli())
	err = d.changePerson(ctx, by, InvitationMade, person, func(tx *sql.Tx, _ Person) error {
		if err := endInvitations(ctx, tx, person, now); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO invitations (hash, person, epoch, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`,
			hash, person, epoch, now.UnixMilli(), expires.UnixMilli())
		if err != nil {
			return fmt.Errorf("make invitation: %w", err)
		}
		return nil
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return secret, expires, nil
}

// endInvitations ends the invitations of a person that nobody has accepted.
func endInvitations(ctx context.Context, tx *sql.Tx, person int64, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE invitations SET used_at = ? WHERE person = ? AND used_at IS NULL`, now.UnixMilli(), person)
	if err != nil {
		return fmt.Errorf("end invitations: %w", err)
	}
	return nil
}

// Invitation returns the person whom an invitation is for. It fails with
// [ErrUnknown], [ErrUsed] or [ErrExpired], and changes nothing.
func (d *DB) Invitation(ctx context.Context, secret string) (Person, error) {
	person, err := d.openInvitation(ctx, d.db.R, secret)
	if err != nil {
		return Person{}, err
	}
	p, err := d.Person(ctx, person)
	if err == nil {
		err = d.CheckIn(ctx, p)
	}
	if err != nil {
		return Person{}, orElse(err, ErrUnknown)
	}
	return p, nil
}

// openInvitation returns the person of an invitation that can be accepted.
func (d *DB) openInvitation(ctx context.Context, q rowQuerier, secret string) (person int64, err error) {
	var epoch string
	var created, expires int64
	var used sql.NullInt64
	err = q.QueryRowContext(ctx, `SELECT person, epoch, created_at, expires_at, used_at FROM invitations WHERE hash = ?`, hashSecret(secret)).
		Scan(&person, &epoch, &created, &expires, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrUnknown
	}
	if err != nil {
		return 0, fmt.Errorf("read invitation: %w", err)
	}
	current, err := d.epoch(ctx)
	switch {
	case err != nil:
		return 0, err
	case used.Valid:
		return 0, ErrUsed
	case epoch != current:
		return 0, ErrUnknown
	case !isCurrent(d.now(), sqlite.Time(created), sqlite.Time(expires)):
		return 0, ErrExpired
	}
	return person, nil
}

// rowQuerier reads one row: a *sql.DB or *sql.Tx.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// AcceptInvitation sets the password of the person whom an invitation is for, uses
// the invitation up and ends the person's sessions, passkeys and tokens, in one commit,
// before which the feeds and webhooks of the person's saved searches end: whoever had got
// hold of one is out. Of several attempts at the same time one succeeds. The errors are
// those of [DB.Invitation], and [ErrPassword].
func (d *DB) AcceptInvitation(ctx context.Context, secret, password string) (Person, error) {
	if _, err := d.Invitation(ctx, secret); err != nil {
		return Person{}, err
	}
	hash, err := d.hashPassword(ctx, password)
	if err != nil {
		return Person{}, err
	}
	return d.acceptInvitation(ctx, secret, func(tx *sql.Tx, person int64) error {
		return storePassword(ctx, tx, person, hash, 0)
	})
}

// AcceptInvitationByPasskey is [DB.AcceptInvitation] with a passkey in place of a
// password, which the person then has no more.
func (d *DB) AcceptInvitationByPasskey(ctx context.Context, secret, label string, c *webauthn.Credential) (Person, error) {
	return d.acceptInvitation(ctx, secret, func(tx *sql.Tx, person int64) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE person = ?`, person); err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE people SET password = NULL, stamp = stamp + 1 WHERE id = ?`, person); err != nil {
			return fmt.Errorf("end password: %w", err)
		}
		return d.storePasskey(ctx, tx, person, label, c)
	})
}

// acceptInvitation uses an invitation up and stores by which the person signs in.
func (d *DB) acceptInvitation(ctx context.Context, secret string, store func(tx *sql.Tx, person int64) error) (accepted Person, err error) {
	err = d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		person, err := d.openInvitation(ctx, tx, secret)
		if err != nil {
			return err
		}
		if err := endInvitations(ctx, tx, person, d.now()); err != nil {
			return err
		}
		if err := d.endSecrets(ctx, tx, person, 0); err != nil {
			return err
		}
		if err := store(tx, person); err != nil {
			return err
		}
		if err := d.record(ctx, tx, Event{Actor: personActor(person), Kind: InvitationAccepted, IDs: IDs{Person: person}}); err != nil {
			return err
		}
		accepted, err = findPerson(ctx, tx, `p.id = ?`, person)
		return err
	})
	return accepted, err
}

// endSecrets ends the passkeys and tokens of a person that were made since a time, in
// milliseconds UTC, and the feeds and webhooks of the person's saved searches.
func (d *DB) endSecrets(ctx context.Context, tx *sql.Tx, person, since int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM passkeys WHERE person = ? AND created_at >= ?`, person, since); err != nil {
		return fmt.Errorf("end passkeys: %w", err)
	}
	tokens, err := sqlite.Column[int64](ctx, tx, `UPDATE tokens SET revoked_at = ? WHERE person = ? AND created_at >= ? AND revoked_at IS NULL RETURNING id`,
		d.now().UnixMilli(), person, since)
	if err != nil {
		return fmt.Errorf("end tokens: %w", err)
	}
	for _, token := range tokens {
		if err := d.record(ctx, tx, Event{Actor: personActor(person), Kind: TokenRevoked, IDs: IDs{Person: person, Token: token}}); err != nil {
			return err
		}
	}
	if d.endOutlets == nil {
		return nil
	}
	return d.endOutlets(ctx, person)
}
