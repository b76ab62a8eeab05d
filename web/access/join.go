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
		if left := checkLeft(ctx, d.db.R, p, address); left != nil {
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

// checkLeft fails with [ErrOut] where an address that was said to be p's is one that a
// removed person had, unless it is p's main address: an admin has added its owner again, or
// p is that owner. As an alias it gives p its rights to see, and its former owner no way in.
func checkLeft(ctx context.Context, q rowQuerier, p Person, address string) error {
	address = api.FoldEmail(address)
	if p.Address() == address {
		return nil
	}
	var left bool
	err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM addresses WHERE address = ? AND ended = 1)`, address).Scan(&left)
	switch {
	case err != nil:
		return fmt.Errorf("look for a removed person: %w", err)
	case left:
		return ErrOut
	}
	return nil
}
