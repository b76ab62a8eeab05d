package access

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"minutebook/internal/sqlite"
)

// maxPasskeys is how many passkeys a person can have.
const maxPasskeys = 20

// The errors of passkeys.
var (
	ErrNoPasskey   = errors.New("this passkey is not known here: sign in another way, and add it again")
	ErrManyKeys    = fmt.Errorf("a person has up to %d passkeys: remove one first", maxPasskeys)
	ErrKnownKey    = errors.New("this passkey was added before: sign in with it, or add another one")
	ErrOnlyPasskey = errors.New("this is the only way in which you sign in: set a password or add another passkey first")
)

// Passkey is a passkey of a person, without its public key.
type Passkey struct {
	ID        []byte
	Label     string
	CreatedAt time.Time
	UsedAt    time.Time // zero: not yet
}

// Value returns the id as text, for forms.
func (k Passkey) Value() string { return base64.RawURLEncoding.EncodeToString(k.ID) }

// PasskeyOwner is a person for package webauthn, with all passkeys.
type PasskeyOwner struct {
	Person
	handle      []byte
	credentials []webauthn.Credential
}

// WebAuthnID returns the handle by which devices know the person.
func (o *PasskeyOwner) WebAuthnID() []byte { return o.handle }

// WebAuthnName returns the person's main address.
func (o *PasskeyOwner) WebAuthnName() string { return o.Address() }

// WebAuthnDisplayName returns the person's name, or the main address.
func (o *PasskeyOwner) WebAuthnDisplayName() string {
	if o.Name != "" {
		return o.Name
	}
	return o.Address()
}

// WebAuthnCredentials returns the person's passkeys.
func (o *PasskeyOwner) WebAuthnCredentials() []webauthn.Credential { return o.credentials }

// PasskeyOwner returns a person for a ceremony. The handle is made at the first one.
func (d *DB) PasskeyOwner(ctx context.Context, person int64) (*PasskeyOwner, error) {
	p, err := d.Person(ctx, person)
	if err == nil {
		err = d.CheckIn(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	handle := make([]byte, 32)
	rand.Read(handle) // never fails
	if _, err := d.db.ExecContext(ctx, `INSERT INTO handles (person, handle) VALUES (?, ?) ON CONFLICT DO NOTHING`, person, handle); err != nil {
		return nil, fmt.Errorf("write passkey handle: %w", err)
	}
	return d.passkeyOwner(ctx, p)
}

// PasskeyOwnerByHandle returns the person whom a device knows by a handle, or
// [ErrNoPasskey].
func (d *DB) PasskeyOwnerByHandle(ctx context.Context, handle []byte) (*PasskeyOwner, error) {
	p, err := findPerson(ctx, d.db.R, `p.id = (SELECT person FROM handles WHERE handle = ?)`, handle)
	if err == nil {
		err = d.CheckIn(ctx, p)
	}
	if err != nil {
		return nil, orElse(err, ErrNoPasskey)
	}
	return d.passkeyOwner(ctx, p)
}

func (d *DB) passkeyOwner(ctx context.Context, p Person) (*PasskeyOwner, error) {
	o := &PasskeyOwner{Person: p}
	if err := d.db.R.QueryRowContext(ctx, `SELECT handle FROM handles WHERE person = ?`, p.ID).Scan(&o.handle); err != nil {
		return nil, fmt.Errorf("read passkey handle: %w", err)
	}
	stored, err := sqlite.Column[string](ctx, d.db.R, `SELECT credential FROM passkeys WHERE person = ? ORDER BY created_at`, p.ID)
	if err != nil {
		return nil, fmt.Errorf("read passkeys: %w", err)
	}
	for _, raw := range stored {
		var c webauthn.Credential
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			return nil, fmt.Errorf("read passkeys: %w", err)
		}
		o.credentials = append(o.credentials, c)
	}
	return o, nil
}

// Passkeys returns the passkeys of a person, the oldest first.
func (d *DB) Passkeys(ctx context.Context, person int64) ([]Passkey, error) {
	keys, err := sqlite.List(ctx, d.db.R, func(rows *sql.Rows, k *Passkey) error {
		var created int64
		var used sql.NullInt64
		err := rows.Scan(&k.ID, &k.Label, &created, &used)
		k.CreatedAt, k.UsedAt = sqlite.Time(created), sqlite.NullTime(used)
		return err
	}, `SELECT id, label, created_at, used_at FROM passkeys WHERE person = ? ORDER BY created_at`, person)
	if err != nil {
		return nil, fmt.Errorf("read passkeys: %w", err)
	}
	return keys, nil
}

// AddPasskey stores a new passkey of a person. It fails with [ErrManyKeys] when the
// person has too many, and with [ErrKnownKey] when anybody has this one.
func (d *DB) AddPasskey(ctx context.Context, person int64, label string, c *webauthn.Credential) error {
	return d.changePerson(ctx, personActor(person), PasskeyAdded, person, func(tx *sql.Tx, _ Person) error {
		return d.storePasskey(ctx, tx, person, label, c)
	})
}

func (d *DB) storePasskey(ctx context.Context, tx *sql.Tx, person int64, label string, c *webauthn.Credential) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("add passkey: %w", err)
	}
	var n, known int
	err = tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM passkeys WHERE person = ?), EXISTS (SELECT 1 FROM passkeys WHERE id = ?)`, person, c.ID).Scan(&n, &known)
	switch {
	case err != nil:
		return fmt.Errorf("count passkeys: %w", err)
	case known > 0:
		return ErrKnownKey
	case n >= maxPasskeys:
		return ErrManyKeys
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO passkeys (id, person, label, credential, created_at) VALUES (?, ?, ?, ?, ?)`,
		c.ID, person, strings.TrimSpace(label), string(raw), d.now().UnixMilli())
	if err != nil {
		return fmt.Errorf("add passkey: %w", err)
	}
	return nil
}

// NotePasskey stores a passkey after its use: its counter shows a copied key.
func (d *DB) NotePasskey(ctx context.Context, c *webauthn.Credential) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("note passkey: %w", err)
	}
	if _, err := d.db.ExecContext(ctx, `UPDATE passkeys SET credential = ?, used_at = ? WHERE id = ?`, string(raw), d.now().UnixMilli(), c.ID); err != nil {
		return fmt.Errorf("note passkey: %w", err)
	}
	return nil
}

// RemovePasskey removes a passkey of a person. It fails with [ErrOnlyPasskey] when
// the person has neither a password nor an identity at a provider nor another passkey.
func (d *DB) RemovePasskey(ctx context.Context, person int64, id []byte) error {
	return d.changePerson(ctx, personActor(person), PasskeyRemoved, person, func(tx *sql.Tx, p Person) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM passkeys WHERE id = ? AND person = ?`, id, person)
		if err != nil {
			return fmt.Errorf("remove passkey: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNoPasskey)
		}
		var another bool
		err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM passkeys WHERE person = ?1)
			OR EXISTS (SELECT 1 FROM identities WHERE person = ?1)`, person).Scan(&another)
		if err == nil && !another && !p.HasPassword {
			err = ErrOnlyPasskey
		}
		return errors.Join(err, changeStamp(ctx, tx, person))
	})
}
