package access

import (
	"context"
	"errors"
	"fmt"

	"minutebook/api"
)

// Join returns the person with an address and adds one where there is none: a proxy
// or an OpenID provider has said who it is, and nobody here was asked. Who was
// removed does not come back in this way, which is [ErrOut]; an admin adds them.
func (d *DB) Join(ctx context.Context, address, name string) (Person, error) {
	p, err := d.PersonByAddress(ctx, address)
	if err == nil || errors.Is(err, ErrNotFound) {
		if left := checkLeft(ctx, d.db.R, p, Claims{Address: address}); left != nil {
			return Person{}, left
		}
	}
	if !errors.Is(err, ErrNotFound) {
		return p, err
	}
	p, err = d.AddPerson(ctx, ActorSystem, address, name, false)
	if errors.Is(err, ErrExists) { // two requests of the same person at once
		p, err = d.PersonByAddress(ctx, address)
		return p, orElse(err, ErrOut)
	}
	return p, err
}

// checkLeft fails with [ErrOut] where the claims are those of a removed person, by address or
// by identity, unless p was added with the address: an admin has added its owner again, or p is
// that owner. As an alias it gives p its rights to see, and its former owner no way in, even
// where it is p's main address by now.
func checkLeft(ctx context.Context, q rowQuerier, p Person, c Claims) error {
	var left bool
	err := q.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM addresses WHERE person = ?1 AND address = ?2 AND entry = 1)
		AND (EXISTS (SELECT 1 FROM addresses WHERE address = ?2 AND ended = 1)
			OR EXISTS (SELECT 1 FROM identities i JOIN people p ON p.id = i.person
				WHERE i.issuer = ?3 AND i.subject = ?4 AND p.removed_at IS NOT NULL))`,
		p.ID, api.FoldEmail(c.Address), c.Issuer, c.Subject).Scan(&left)
	switch {
	case err != nil:
		return fmt.Errorf("look for a removed person: %w", err)
	case left:
		return ErrOut
	}
	return nil
}
