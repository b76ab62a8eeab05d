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
	if !errors.Is(err, ErrNotFound) {
		return p, err
	}
	var removed bool
	err = d.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM addresses WHERE address = ? AND ended = 1)`, api.FoldEmail(address)).Scan(&removed)
	switch {
	case err != nil:
		return Person{}, fmt.Errorf("look for a removed person: %w", err)
	case removed:
		return Person{}, ErrOut
	}
	p, err = d.AddPerson(ctx, ActorSystem, address, name, false)
	if errors.Is(err, ErrExists) { // two requests of the same person at once
		p, err = d.PersonByAddress(ctx, address)
		return p, orElse(err, ErrOut)
	}
	return p, err
}
