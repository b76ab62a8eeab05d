package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// maxAddress is the length of the longest e-mail address in bytes (RFC 5321).
const maxAddress = 254

// foldAddress returns the form in which an address is kept and compared. It refuses
// characters that nobody sees, by which two addresses would look the same, and bytes that
// are no text, which all look the same.
func foldAddress(address string) (string, error) {
	email := api.FoldEmail(address)
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > maxAddress || strings.ContainsFunc(email, func(r rune) bool {
		return r == '"' || r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}) {
		return "", ErrAddress
	}
	return email, nil
}

// maxName is the length of the longest name of a person in characters; longer ones are cut.
const maxName = 200

// cleanName returns the form in which a name is kept: a line that a terminal and a page
// show whole.
func cleanName(name string) string {
	words := strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, name))
	runes := []rune(strings.Join(words, " "))
	return strings.TrimSpace(string(runes[:min(len(runes), maxName)]))
}

// AddPerson adds a person with one address. It fails with [ErrAddress] for a text that is
// none, and with [ErrExists] when a person has the address.
func (d *DB) AddPerson(ctx context.Context, by Actor, address, name string, admin bool) (added Person, err error) {
	email, err := foldAddress(address)
	if err != nil {
		return Person{}, err
	}
	err = d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := checkActing(ctx, tx); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO people (name, admin, created_at) VALUES (?, ?, ?)`,
			cleanName(name), admin, d.now().UnixMilli())
		if err != nil {
			return fmt.Errorf("add person: %w", err)
		}
		id, err := done.LastInsertId()
		if err != nil {
			return fmt.Errorf("add person: %w", err)
		}
		if err := addAddress(ctx, tx, id, email, true); err != nil {
			return err
		}
		if err := d.record(ctx, tx, Event{Actor: by, Kind: PersonAdded, IDs: IDs{Person: id}}); err != nil {
			return err
		}
		if admin {
			if err := d.record(ctx, tx, Event{Actor: by, Kind: AdminGranted, IDs: IDs{Person: id}}); err != nil {
				return err
			}
		}
		added, err = findPerson(ctx, tx, `p.id = ?`, id)
		return err
	})
	return added, err
}

// addAddress gives a person an address. As an entry the person was added with it.
func addAddress(ctx context.Context, tx *sql.Tx, person int64, address string, entry bool) error {
	_, err := findPerson(ctx, tx, byAddress, address)
	if err == nil {
		return ErrExists
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO addresses (person, address, position, entry)
		SELECT ?1, ?2, coalesce(max(position), 0) + 1, ?3 FROM addresses WHERE person = ?1`, person, address, entry)
	if err != nil {
		return fmt.Errorf("add address: %w", err)
	}
	return nil
}

// changePerson runs fn on a person who was not removed and records the event, in
// one commit. fn is not called, and the error is [ErrNotFound], without the person.
func (d *DB) changePerson(ctx context.Context, by Actor, kind EventKind, person int64, fn func(*sql.Tx, Person) error) error {
	defer d.bell.ring()
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := checkActing(ctx, tx); err != nil {
			return err
		}
		p, err := findPerson(ctx, tx, `p.id = ? AND p.removed_at IS NULL`, person)
		if err != nil {
			return err
		}
		if err := fn(tx, p); err != nil {
			return err
		}
		return d.record(ctx, tx, Event{Actor: by, Kind: kind, IDs: IDs{Person: person}})
	})
}

// AddAddress gives a person a further address, and the rights of the address. It fails as
// [DB.AddPerson] does.
func (d *DB) AddAddress(ctx context.Context, by Actor, person int64, address string) error {
	email, err := foldAddress(address)
	if err != nil {
		return err
	}
	return d.changePerson(ctx, by, AddressAdded, person, func(tx *sql.Tx, _ Person) error {
		return addAddress(ctx, tx, person, email, false)
	})
}

// RemoveAddress takes an address from a person, and ends the identities that entered by it: see
// [DB.endIdentities]. When it was the main one, the next oldest is. Open invitations, one of
// which may have been sent there, and sign-ins that are under way end. It fails with
// [ErrNotFound] for an address that the person does not have, and with [ErrLastAddress] for
// the only one.
func (d *DB) RemoveAddress(ctx context.Context, by Actor, person int64, address string) error {
	address = api.FoldEmail(address)
	return d.changePerson(ctx, by, AddressRemoved, person, func(tx *sql.Tx, p Person) error {
		var isEntry bool
		err := tx.QueryRowContext(ctx, `DELETE FROM addresses WHERE person = ? AND address = ? RETURNING entry`, person, address).Scan(&isEntry)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return fmt.Errorf("remove address: %w", err)
		case len(p.Addresses) == 1:
			return ErrLastAddress
		}
		if err := endInvitations(ctx, tx, person, d.now()); err != nil {
			return err
		}
		if err := d.endIdentities(ctx, tx, person, address, isEntry); err != nil {
			return err
		}
		return changeStamp(ctx, tx, person)
	})
}

// SetAdmin makes a person an admin, or no admin any more. It changes nothing when
// the person is that already. The last admin stays one: [ErrLastAdmin].
func (d *DB) SetAdmin(ctx context.Context, by Actor, person int64, admin bool) error {
	kind := AdminGranted
	if !admin {
		kind = AdminRevoked
	}
	err := d.changePerson(ctx, by, kind, person, func(tx *sql.Tx, p Person) error {
		if p.Admin == admin {
			return errUnchanged
		}
		if _, err := tx.ExecContext(ctx, `UPDATE people SET admin = ? WHERE id = ?`, admin, person); err != nil {
			return fmt.Errorf("change admin: %w", err)
		}
		return d.keepAdmin(ctx, tx, p)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// errUnchanged rolls back a change that would change nothing.
var errUnchanged = errors.New("nothing to change")

// keepAdmin refuses a change of p that leaves no admin who may enter.
func (d *DB) keepAdmin(ctx context.Context, tx *sql.Tx, p Person) error {
	if !p.Admin {
		return nil
	}
	admins, err := sqlite.List(ctx, tx, scanPerson, `SELECT `+personColumns+` FROM people p WHERE p.admin = 1 AND p.removed_at IS NULL`)
	if err != nil {
		return fmt.Errorf("look for another admin: %w", err)
	}
	out, err := d.Out(ctx, admins)
	if err == nil && len(out) == len(admins) {
		err = ErrLastAdmin
	}
	return err
}

// RemovePerson ends a person: the password, passkeys, invitations, sessions, tokens and the own account go,
// and the addresses can be given to another person. The last admin cannot be
// removed: [ErrLastAdmin].
func (d *DB) RemovePerson(ctx context.Context, by Actor, person int64) error {
	return d.changePerson(ctx, by, PersonRemoved, person, func(tx *sql.Tx, p Person) error {
		now := d.now().UnixMilli()
		for _, step := range []struct {
			query string
			args  []any
		}{
			{`UPDATE people SET removed_at = ?, password = NULL WHERE id = ?`, []any{now, person}},
			{`UPDATE addresses SET ended = 1 WHERE person = ?`, []any{person}},
			{`UPDATE invitations SET used_at = ? WHERE person = ? AND used_at IS NULL`, []any{now, person}},
			{`UPDATE tokens SET revoked_at = ? WHERE person = ? AND revoked_at IS NULL`, []any{now, person}},
			{`DELETE FROM sessions WHERE person = ?`, []any{person}},
			{`DELETE FROM passkeys WHERE person = ?`, []any{person}},
			{`DELETE FROM accounts WHERE person = ?`, []any{person}},
		} {
			if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
				return fmt.Errorf("remove person: %w", err)
			}
		}
		return d.keepAdmin(ctx, tx, p)
	})
}
