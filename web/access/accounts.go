package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"minutebook/internal/sqlite"
)

// The errors of accounts.
var (
	ErrNoAccountKey = errors.New("accounts cannot be connected here: the configuration has no key for them")
	ErrConnected    = errors.New("this account is connected already: each person connects their own")
	ErrNoAccount    = errors.New("there is no such account")
	ErrNotYours     = errors.New("this account is not yours")
	// ErrParked is wrapped with the reason why an account is not used.
	ErrParked = errors.New("this account is parked")
)

// AccountKind is how an account's secret is used.
type AccountKind string

// The kinds of secrets.
const (
	AccountKey   AccountKind = "key"   // an API key
	AccountOAuth AccountKind = "oauth" // the tokens of an OAuth connection
)

// Account is a person's own account at the service, without its secret.
type Account struct {
	ID          int64       `json:"-"` // of the connection; a new secret makes another one
	Person      int64       `json:"person"`
	Name        string      `json:"name"`    // by which the archive knows it
	Address     string      `json:"address"` // under which the service knows the person
	BaseURL     string      `json:"base_url"`
	Kind        AccountKind `json:"kind"`
	ConnectedAt time.Time   `json:"connected_at"`
	// Parked says why the account is not read at present, "" when it is.
	Parked string `json:"parked,omitempty"`
	// Keyless reports that it is parked for want of a key alone.
	Keyless     bool `json:"-"`
	fingerprint []byte
}

// AccountName returns the name of a person's account in the archive. Configured accounts
// cannot have it.
func AccountName(person int64) string { return AccountPrefix + strconv.FormatInt(person, 10) }

// AccountPrefix begins the names of the accounts that people have connected.
const AccountPrefix = "person-"

// CanConnect reports whether there is a key with which secrets can be kept.
func (d *DB) CanConnect() bool { return len(d.keys) > 0 }

// Accounts returns the accounts that people have connected, the oldest first. serviceURL is
// the service of the archive.
func (d *DB) Accounts(ctx context.Context, serviceURL string) ([]Account, error) {
	return d.accountsWhere(ctx, serviceURL, `1`)
}

// AccountOf returns the account of a person, or [ErrNoAccount].
func (d *DB) AccountOf(ctx context.Context, serviceURL string, person int64) (Account, error) {
	list, err := d.accountsWhere(ctx, serviceURL, `person = ?`, person)
	if err == nil && len(list) == 0 {
		err = ErrNoAccount
	}
	if err != nil {
		return Account{}, err
	}
	return list[0], nil
}

// storedAccount is a row of the table accounts.
type storedAccount struct {
	Account
	sealed []byte
}

func readAccounts(ctx context.Context, q sqlite.Querier, where string, args ...any) ([]storedAccount, error) {
	list, err := sqlite.List(ctx, q, func(rows *sql.Rows, a *storedAccount) error {
		var connected int64
		err := rows.Scan(&a.ID, &a.Person, &a.Address, &a.BaseURL, &a.Kind, &a.fingerprint, &a.sealed, &connected)
		a.Name, a.ConnectedAt = AccountName(a.Person), sqlite.Time(connected)
		return err
	}, `SELECT id, person, address, base_url, kind, fingerprint, secret, connected_at FROM accounts WHERE `+where+` ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	return list, nil
}

func (d *DB) accountsWhere(ctx context.Context, serviceURL, where string, args ...any) ([]Account, error) {
	stored, err := readAccounts(ctx, d.db.R, where, args...)
	if err != nil {
		return nil, err
	}
	list := []Account{}
	for _, a := range stored {
		_, parked := d.openAccount(ctx, serviceURL, a)
		if parked != nil && !errors.Is(parked, ErrParked) {
			return nil, parked
		}
		if parked != nil {
			a.Parked, a.Keyless = errors.Unwrap(parked).Error(), errors.Is(parked, errNoKey)
		}
		list = append(list, a.Account)
	}
	return list, nil
}

// parkedError is an [ErrParked] with its reason.
type parkedError struct{ reason error }

func (e parkedError) Error() string        { return ErrParked.Error() + ": " + e.reason.Error() }
func (e parkedError) Unwrap() error        { return e.reason }
func (e parkedError) Is(target error) bool { return target == ErrParked }

// errNoKey means that no key is given at all.
var errNoKey = errors.New("the configuration has no key for it: restore the file that [web.accounts] named, or connect it again")

// openAccount decrypts the secret of an account that may be used now. It fails with
// [ErrParked] for one whose person is out or has the address no more, whose service is
// another one, and whose key is missing.
func (d *DB) openAccount(ctx context.Context, serviceURL string, a storedAccount) ([]byte, error) {
	park := func(format string, args ...any) ([]byte, error) { return nil, parkedError{fmt.Errorf(format, args...)} }
	p, err := d.Person(ctx, a.Person)
	if err != nil {
		return nil, err
	}
	out := d.CheckIn(ctx, p)
	switch {
	case errors.Is(out, ErrOut):
		return park("its person was removed, or is deactivated in the service's directory")
	case out != nil:
		return nil, out
	case !slices.Contains(p.Addresses, a.Address):
		return park("its person has the address %s no more", a.Address)
	case a.BaseURL != serviceURL:
		return park("it is an account at %s, and this archive reads another service now: connect it again", a.BaseURL)
	case !d.CanConnect():
		return nil, parkedError{errNoKey}
	}
	secret, _, err := d.openSecret(a.Account, a.sealed)
	if err != nil {
		return nil, parkedError{err}
	}
	return secret, nil
}

// AccountSecret returns the secret of a connection. It is asked at every use, so that
// the commit that parks an account ends its calls. It fails with [ErrParked], or
// [ErrNoAccount] for a connection that was replaced or ended.
func (d *DB) AccountSecret(ctx context.Context, serviceURL string, id int64) ([]byte, error) {
	stored, err := readAccounts(ctx, d.db.R, `id = ?`, id)
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 {
		return nil, ErrNoAccount
	}
	return d.openAccount(ctx, serviceURL, stored[0])
}
