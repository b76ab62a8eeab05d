package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/search"
	"minutebook/web/access"
)

// openNotes returns the additions of people, or nil where nobody has added anything yet.
func (h Deps) openNotes(ctx context.Context) (*notes.DB, error) {
	if _, err := os.Stat(filepath.Join(h.Archive.Dir(), notes.Name)); err != nil || h.Notes == nil {
		return nil, nil // a missing database that should be there is reported by whoever opens it
	}
	return h.Notes(ctx)
}

// addNotes makes a search of a command know the notes that the owner reads, and the
// merged persons.
func (h Deps) addNotes(ctx context.Context, request *search.Request) error {
	db, err := h.openNotes(ctx)
	if err != nil || db == nil {
		return err
	}
	groups, err := db.Groups(ctx)
	if err != nil {
		return err
	}
	request.SamePerson = groups.Same
	request.Notes = func(ctx context.Context, only int64, add func(int64, time.Duration, string)) error {
		return db.EachText(ctx, notes.Owner, only, add)
	}
	return nil
}

// verifyNotes returns the damages of notes.db.
func (h Deps) verifyNotes(ctx context.Context, repair bool) ([]archive.Damage, error) {
	db, err := h.openNotes(ctx)
	if errors.Is(err, archive.ErrDamaged) {
		return nil, nil // reported with the other databases
	}
	if err != nil || db == nil {
		return nil, err
	}
	return db.Check(ctx, repair)
}

// authors translates between the ids and the addresses of people.
func (h Deps) authors(ctx context.Context) (notes.Authors, error) {
	db, err := h.Access(ctx)
	if err != nil {
		return notes.Authors{}, err
	}
	return notes.Authors{
		Address: func(ctx context.Context, person int64) (string, error) {
			p, err := db.Person(ctx, person)
			if errors.Is(err, access.ErrNotFound) {
				err = nil
			}
			if p.ID == 0 || !p.RemovedAt.IsZero() { // the address may be somebody else's now
				return notes.Removed + cmp.Or(p.Address(), fmt.Sprint(person)), err
			}
			return p.Address(), err
		},
		Person: func(ctx context.Context, address string) (int64, error) {
			p, err := db.PersonByAddress(ctx, address)
			if errors.Is(err, access.ErrNotFound) {
				return notes.Owner, nil
			}
			return p.ID, err
		},
	}, nil
}
