package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/archive"
)

// Join says which persons of an OpenID provider may enter.
type Join string

// The rules, from the narrowest on.
const (
	JoinInvited   Join = "invited"   // whom an admin has added
	JoinDirectory Join = "directory" // and whom the service's users list as active
	JoinDomain    Join = "domain"    // and everyone of the allowed domains
)

// The errors of an identity. They are for the log: the person sees none of them.
var (
	ErrUnverified = errors.New("the provider has not verified the address")
	ErrDomain     = errors.New("the address is of a domain that web.oidc.allowed_domains does not name")
	ErrNotInvited = errors.New("nobody has invited this address: an admin adds it, or web.oidc.join lets more people in")
	ErrOtherOne   = errors.New("the person with this address signs in as another subject of this provider: " +
		"if the provider has made a new one for the same person, remove the person and invite them again")
)

// Claims are the statements of an OpenID provider about a person, from an ID token
// whose signature, issuer, audience and times were checked.
type Claims struct {
	Issuer, Subject string
	Address, Name   string
	Verified        bool // the provider says that the address is the person's
	Admin           bool // the person is in the group of admins
}

// Entrance are the rules by which [Claims] become a person.
type Entrance struct {
	Join    Join
	Domains []string // whose addresses may enter; empty: any
	Admins  bool     // Claims.Admin decides who is admin
}

// check fails unless the address may enter at all.
func (e *Entrance) check(c Claims) error {
	if !c.Verified {
		return ErrUnverified
	}
	_, domain, _ := strings.Cut(api.FoldEmail(c.Address), "@")
	if len(e.Domains) > 0 && !slices.ContainsFunc(e.Domains, func(d string) bool { return api.FoldEmail(d) == domain }) {
		return ErrDomain
	}
	return nil
}

// PersonByClaims returns the person of an identity. A new identity becomes the
// person with its address, or a new person, as the rules say. It fails with the
// errors above, or with [ErrOut] for a person who cannot enter.
func (d *DB) PersonByClaims(ctx context.Context, c Claims, rules Entrance) (Person, error) {
	if c.Issuer == "" || c.Subject == "" {
		return Person{}, errors.New("find person by claims: the issuer or the subject is missing")
	}
	if err := rules.check(c); err != nil {
		return Person{}, err
	}
	p, err := d.personByIdentity(ctx, c)
	switch {
	case errors.Is(err, ErrNotFound):
		p, err = d.linkIdentity(ctx, c, rules)
	case err == nil:
		err = d.noteAddress(ctx, c)
	}
	if err == nil {
		err = d.CheckIn(ctx, p)
	}
	if err != nil {
		return Person{}, err
	}
	if rules.Admins && p.Admin != c.Admin {
		err := d.SetAdmin(ctx, ActorSystem, p.ID, c.Admin)
		if err != nil && !errors.Is(err, ErrLastAdmin) {
			return Person{}, err
		}
		now, err := d.Person(ctx, p.ID)
		now.stamp = p.stamp // the sign-in can have been ended meanwhile
		return now, err
	}
	return p, nil
}

// personByIdentity returns the person that an identity was linked to.
func (d *DB) personByIdentity(ctx context.Context, c Claims) (Person, error) {
	return findPerson(ctx, d.db.R, `p.removed_at IS NULL AND p.id = (SELECT person FROM identities WHERE issuer = ? AND subject = ?)`, c.Issuer, c.Subject)
}

// noteAddress notes that an identity enters by an address, if its person has it. The provider
// can have another one by now, which gives the person nothing.
func (d *DB) noteAddress(ctx context.Context, c Claims) error {
	_, err := d.db.ExecContext(ctx, `UPDATE identities SET address = ?3 WHERE issuer = ?1 AND subject = ?2 AND address IS NOT ?3
		AND EXISTS (SELECT 1 FROM addresses a WHERE a.person = identities.person AND a.address = ?3 AND a.ended = 0)`,
		c.Issuer, c.Subject, api.FoldEmail(c.Address))
	if err != nil {
		return fmt.Errorf("note the address of an identity: %w", err)
	}
	return nil
}

// linkIdentity links a new identity to the person with its address, who is added
// where the rules let the address join.
func (d *DB) linkIdentity(ctx context.Context, c Claims, rules Entrance) (Person, error) {
	p, err := d.PersonByAddress(ctx, c.Address)
	if errors.Is(err, ErrNotFound) {
		if err := d.mayJoin(ctx, c, rules); err != nil {
			return Person{}, err
		}
		p, err = d.Join(ctx, c.Address, c.Name)
	}
	if err != nil {
		return Person{}, err
	}
	err = d.changePerson(ctx, p.Actor(), IdentityLinked, p.ID, func(tx *sql.Tx, now Person) error {
		if !slices.Contains(now.Addresses, api.FoldEmail(c.Address)) { // another person has it meanwhile
			return ErrNotInvited
		}
		p = now
		if err := checkLeft(ctx, tx, p, c); err != nil {
			return err
		}
		var other bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM identities WHERE person = ? AND issuer = ? AND subject <> ?)`,
			p.ID, c.Issuer, c.Subject).Scan(&other)
		if err != nil {
			return fmt.Errorf("look for another identity: %w", err)
		}
		if other {
			return ErrOtherOne
		}
		// The identity of a removed person, who was added again, moves to the new one.
		_, err = tx.ExecContext(ctx, `INSERT INTO identities (issuer, subject, person, linked_at, address) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (issuer, subject) DO UPDATE SET person = excluded.person, linked_at = excluded.linked_at, address = excluded.address`,
			c.Issuer, c.Subject, p.ID, d.now().UnixMilli(), api.FoldEmail(c.Address))
		if err != nil {
			return fmt.Errorf("link identity: %w", err)
		}
		return nil
	})
	return p, err
}

// mayJoin fails unless a person with the address may be added. The identity of a
// person who was removed may not: [ErrOut].
func (d *DB) mayJoin(ctx context.Context, c Claims, rules Entrance) error {
	var removed bool
	err := d.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM identities WHERE issuer = ? AND subject = ?)`, c.Issuer, c.Subject).Scan(&removed)
	if err != nil {
		return fmt.Errorf("look for a removed person: %w", err)
	}
	if removed {
		return ErrOut
	}
	switch rules.Join {
	case JoinDomain:
		if len(rules.Domains) > 0 {
			return nil
		}
	case JoinDirectory:
		user, err := d.archive.User(ctx, api.FoldEmail(c.Address))
		if err != nil && !errors.Is(err, archive.ErrNotFound) {
			return err
		}
		if err == nil && user.Status == api.StatusActive {
			return nil
		}
	}
	return ErrNotInvited
}

// endIdentities ends the identities that entered as a person by an address, or by one that is
// not known, and the sessions by a provider. The owner of an entry is the person, whom the
// provider may know by another address. The owner of an alias need not be: whatever was made
// since an identity entered by it ends too, since that may have been somebody else.
func (d *DB) endIdentities(ctx context.Context, tx *sql.Tx, person int64, address string, isEntry bool) error {
	var since sql.NullInt64
	err := tx.QueryRowContext(ctx, `SELECT min(linked_at) FROM identities WHERE person = ? AND address = ?`, person, address).Scan(&since)
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	done, err := tx.ExecContext(ctx, `DELETE FROM identities WHERE person = ?1 AND coalesce(address, ?2) = ?2`, person, address)
	if err != nil {
		return fmt.Errorf("end identities: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE person = ? AND method = ?`, person, MethodOIDC); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	if isEntry || !since.Valid {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE person = ? AND created_at >= ?`, person, since); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	// An audit that was pruned does not tell whether the password is older.
	_, err = tx.ExecContext(ctx, `UPDATE people SET password = NULL WHERE id = ?1 AND ((SELECT at FROM audit ORDER BY seq LIMIT 1) > ?2
		OR EXISTS (SELECT 1 FROM audit WHERE kind IN (?3, ?4) AND ids ->> '$.person' = ?1 AND at >= ?2))`, person, since, PasswordSet, InvitationAccepted)
	if err != nil {
		return fmt.Errorf("end password: %w", err)
	}
	return d.endSecrets(ctx, tx, person, since.Int64)
}
