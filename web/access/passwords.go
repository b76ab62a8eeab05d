package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/alexedwards/argon2id"

	"minutebook/api"
)

// The length of a password in bytes. There are no rules on its characters.
const (
	MinPassword = 10
	MaxPassword = 1024
)

// maxHashing is the number of passwords that are computed at a time. Each takes
// 46 MiB of memory meanwhile.
const maxHashing = 2

// passwordCost is the first choice of OWASP's Password Storage Cheat Sheet. It takes
// a fifteenth of a second of processor time; the second choice of RFC 9106, with
// 64 MiB and three passes, takes more than a quarter of a second.
func passwordCost() *argon2id.Params {
	return &argon2id.Params{Memory: 46 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// CheckNewPassword fails with [ErrPassword] for one that is too short or too long.
func CheckNewPassword(password string) error {
	if len(password) < MinPassword || len(password) > MaxPassword {
		return ErrPassword
	}
	return nil
}

// hashPassword returns a password in the form in which it is kept.
func (d *DB) hashPassword(ctx context.Context, password string) (hash string, err error) {
	if err := CheckNewPassword(password); err != nil {
		return "", err
	}
	err = d.compute(ctx, func() error {
		hash, err = argon2id.CreateHash(password, passwordCost())
		return err
	})
	return hash, err
}

// compute waits for its turn and runs fn, unless ctx ends first.
func (d *DB) compute(ctx context.Context, fn func() error) error {
	select {
	case d.hashing <- struct{}{}:
		defer func() { <-d.hashing }()
		if err := ctx.Err(); err != nil {
			return err
		}
		return fn()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nobodysHash is compared where there is no password, so that a sign-in takes as
// long for an address that nobody has. It has the cost of [passwordCost].
const nobodysHash = "$argon2id$v=19$m=47104,t=1,p=1$vqm7/oK6Rug3vUn2Gc0ngw$Ws6uA504quDqvlaNr6w7mNw6HCkgBctHlUJB0MVEzkI"

// CheckPassword returns the person with an address and a password. It fails with
// [ErrSignIn], after the same work, for a wrong password, for an address that
// nobody has, and for a person who has no password or cannot enter; the failure is
// in the audit. Callers limit how often it is tried, with a [Limiter].
func (d *DB) CheckPassword(ctx context.Context, address, password string) (Person, error) {
	p, hash, err := d.passwordOf(ctx, address)
	if err != nil {
		return Person{}, err
	}
	matches := false
	err = d.compute(ctx, func() error {
		stored := hash
		if stored == "" {
			stored = nobodysHash
		}
		matches, err = argon2id.ComparePasswordAndHash(password, stored)
		return err
	})
	if err != nil {
		return Person{}, fmt.Errorf("check password: %w", err)
	}
	out := d.CheckIn(ctx, p)
	if out != nil && !errors.Is(out, ErrOut) {
		return Person{}, out
	}
	if matches && hash != "" && out == nil {
		return p, nil
	}
	err = d.Record(ctx, Event{Actor: ActorSystem, Kind: SignInFailed, IDs: IDs{Person: p.ID, Method: MethodPassword}})
	return Person{}, errors.Join(ErrSignIn, err)
}

// passwordOf returns the person with an address and the hash of the password, both
// empty for an address that nobody has.
func (d *DB) passwordOf(ctx context.Context, address string) (p Person, hash string, err error) {
	p, err = d.PersonByAddress(ctx, api.FoldEmail(address))
	if errors.Is(err, ErrNotFound) {
		return Person{}, "", nil
	}
	if err != nil {
		return Person{}, "", err
	}
	var stored sql.NullString
	err = d.db.R.QueryRowContext(ctx, `SELECT password FROM people WHERE id = ? AND removed_at IS NULL`, p.ID).Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Person{}, "", fmt.Errorf("read password: %w", err)
	}
	return p, stored.String, nil
}

// SetPassword gives a person another password and ends all sessions of the person
// but one, keep, which may be 0.
func (d *DB) SetPassword(ctx context.Context, by Actor, person int64, password string, keep int64) error {
	hash, err := d.hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return d.changePerson(ctx, by, PasswordSet, person, func(tx *sql.Tx, _ Person) error {
		return storePassword(ctx, tx, person, hash, keep)
	})
}

// storePassword sets the password of a person and ends the other sessions: who
// knew the old password is out.
func storePassword(ctx context.Context, tx *sql.Tx, person int64, hash string, keep int64) error {
	if _, err := tx.ExecContext(ctx, `UPDATE people SET password = ?, stamp = stamp + 1 WHERE id = ?`, hash, person); err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE person = ? AND id <> ?`, person, keep); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}
