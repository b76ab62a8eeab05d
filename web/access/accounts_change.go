package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Connect keeps the account of a person, in the place of an earlier one. The caller has
// tried it. It fails with [ErrNoAccountKey] without a key for secrets, with [ErrConnected]
// when another person has the same API key, and with [ErrNotYours] when the address is not
// the person's.
func (d *DB) Connect(ctx context.Context, by Actor, a Account, secret []byte) (Account, error) {
	if !d.CanConnect() {
		return Account{}, ErrNoAccountKey
	}
	a.Address, a.Name, a.ConnectedAt = api.FoldEmail(a.Address), AccountName(a.Person), sqlite.Time(d.now().UnixMilli())
	a.fingerprint = d.keys[0].fingerprint(secret)
	err := d.changePerson(ctx, by, AccountConnected, a.Person, func(tx *sql.Tx, p Person) error {
		if !slices.Contains(p.Addresses, a.Address) {
			return ErrNotYours
		}
		others, err := readAccounts(ctx, tx, `fingerprint = ? AND person <> ?`, a.fingerprint, a.Person)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return ErrConnected
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM accounts WHERE person = ?`, a.Person); err != nil {
			return fmt.Errorf("replace account: %w", err)
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO accounts (person, address, base_url, kind, fingerprint, secret, connected_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, a.Person, a.Address, a.BaseURL, a.Kind, a.fingerprint, d.keys[0].seal(a, secret), a.ConnectedAt.UnixMilli())
		if err == nil {
			a.ID, err = done.LastInsertId()
		}
		if err != nil {
			return fmt.Errorf("keep account: %w", err)
		}
		return nil
	})
	return a, err
}

// SaveAccountSecret replaces the secret of a connection, as when its tokens were
// renewed. It fails with [ErrNoAccount] when the connection has ended meanwhile, and with
// [ErrNoAccountKey] without a key for secrets. The audit does not record it.
func (d *DB) SaveAccountSecret(ctx context.Context, id int64, secret []byte) error {
	if !d.CanConnect() {
		return ErrNoAccountKey
	}
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		stored, err := readAccounts(ctx, tx, `id = ?`, id)
		if err == nil && len(stored) == 0 {
			err = ErrNoAccount
		}
		if err != nil {
			return err
		}
		return d.storeSecret(ctx, tx, stored[0].Account, secret)
	})
}

func (d *DB) storeSecret(ctx context.Context, tx *sql.Tx, a Account, secret []byte) error {
	_, err := tx.ExecContext(ctx, `UPDATE accounts SET secret = ?, fingerprint = ? WHERE id = ?`, d.keys[0].seal(a, secret), d.keys[0].fingerprint(secret), a.ID)
	if err != nil {
		return fmt.Errorf("keep the secret of an account: %w", err)
	}
	return nil
}

// Disconnect ends the account of a person and deletes its secret. It fails with
// [ErrNoAccount] when there is none.
func (d *DB) Disconnect(ctx context.Context, by Actor, person int64) error {
	return d.changePerson(ctx, by, AccountEnded, person, func(tx *sql.Tx, _ Person) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM accounts WHERE person = ?`, person)
		if err != nil {
			return fmt.Errorf("end account: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNoAccount)
		}
		return nil
	})
}

// renewSecrets encrypts with the first key the secrets of older keys, so that
// these can be taken out of the file.
func (d *DB) renewSecrets(ctx context.Context) error {
	if len(d.keys) < 2 {
		return nil
	}
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		stored, err := readAccounts(ctx, tx, `1`)
		if err != nil {
			return err
		}
		for _, a := range stored {
			secret, old, err := d.openSecret(a.Account, a.sealed)
			if err != nil || !old {
				continue // an account that cannot be decrypted is parked
			}
			if err := d.storeSecret(ctx, tx, a.Account, secret); err != nil {
				return err
			}
		}
		return nil
	})
}
