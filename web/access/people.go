package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Person is who may enter. The addresses decide which meetings a person sees.
type Person struct {
	ID        int64    `json:"id"`
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"` // trimmed and in small letters; the first is the main one
	Admin     bool     `json:"admin"`
	// HasPassword is false for a person who was invited and has not answered, or
	// who signs in in another way.
	HasPassword bool      `json:"has_password"`
	CreatedAt   time.Time `json:"created_at"`
	RemovedAt   time.Time `json:"removed_at,omitzero"`

	stamp   int64 // another one once a way to sign in has ended
	session int64 // by which the person was read; 0: by none
}

// Actor returns the person as an actor of audit rows.
func (p Person) Actor() Actor { return personActor(p.ID) }

// Address returns the main address.
func (p Person) Address() string {
	if len(p.Addresses) == 0 {
		return ""
	}
	return p.Addresses[0]
}

// personColumns are the columns of the table people p that [personFields] reads.
const personColumns = `p.id, p.name, p.admin, p.password IS NOT NULL, p.stamp, p.created_at, p.removed_at,
	(SELECT json_group_array(a.address ORDER BY a.position) FROM addresses a WHERE a.person = p.id)`

// personFields has the values of personColumns until finish fills the person.
type personFields struct {
	created   int64
	removed   sql.NullInt64
	addresses string
}

func (f *personFields) targets(p *Person) []any {
	return []any{&p.ID, &p.Name, &p.Admin, &p.HasPassword, &p.stamp, &f.created, &f.removed, &f.addresses}
}

func (f *personFields) finish(p *Person) error {
	p.CreatedAt, p.RemovedAt = sqlite.Time(f.created), sqlite.NullTime(f.removed)
	return json.Unmarshal([]byte(f.addresses), &p.Addresses)
}

func scanPerson(rows *sql.Rows, p *Person) error {
	var f personFields
	if err := rows.Scan(f.targets(p)...); err != nil {
		return err
	}
	return f.finish(p)
}

// People returns all people that were not removed, the oldest first.
func (d *DB) People(ctx context.Context) ([]Person, error) {
	people, err := sqlite.List(ctx, d.db.R, scanPerson, `SELECT `+personColumns+` FROM people p WHERE p.removed_at IS NULL ORDER BY p.id`)
	if err != nil {
		return nil, fmt.Errorf("read people: %w", err)
	}
	return people, nil
}

// FindPeople returns the people a part of whose name or of an address is the given one,
// whatever its case, the oldest first and no more than limit, and how many there are. ""
// is a part of all.
func (d *DB) FindPeople(ctx context.Context, part string, limit int) (people []Person, found int, err error) {
	where, args := `p.removed_at IS NULL`, []any{}
	if part = strings.ToLower(part); part != "" {
		var ids []int64
		err = sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
			var id int64
			var name, address sql.RawBytes
			if err := rows.Scan(&id, &name, &address); err != nil || len(ids) > 0 && ids[len(ids)-1] == id {
				return err
			}
			if strings.Contains(strings.ToLower(string(name)), part) || strings.Contains(string(address), part) {
				ids = append(ids, id)
			}
			return nil
		}, `SELECT p.id, p.name, a.address FROM people p JOIN addresses a ON a.person = p.id WHERE p.removed_at IS NULL ORDER BY p.id`)
		if err != nil {
			return nil, 0, fmt.Errorf("find people: %w", err)
		}
		found = len(ids)
		list, err := json.Marshal(ids[:min(len(ids), limit)])
		if err != nil {
			return nil, 0, fmt.Errorf("find people: %w", err)
		}
		where, args = `p.id IN (SELECT value FROM json_each(?))`, append(args, string(list))
	} else if found, err = d.CountPeople(ctx); err != nil {
		return nil, 0, err
	}
	people, err = sqlite.List(ctx, d.db.R, scanPerson, `SELECT `+personColumns+` FROM people p WHERE `+where+` ORDER BY p.id LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, 0, fmt.Errorf("find people: %w", err)
	}
	return people, found, nil
}

// CountPeople returns how many people there are that were not removed.
func (d *DB) CountPeople(ctx context.Context) (n int, err error) {
	if err := d.db.R.QueryRowContext(ctx, `SELECT count(*) FROM people WHERE removed_at IS NULL`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count people: %w", err)
	}
	return n, nil
}

// AnyPerson reports whether there is a person at all. Before, nobody can sign in.
func (d *DB) AnyPerson(ctx context.Context) (bool, error) {
	var found bool
	err := d.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM people WHERE removed_at IS NULL)`).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for people: %w", err)
	}
	return found, nil
}

// Person returns the person with an id, removed or not, or [ErrNotFound].
func (d *DB) Person(ctx context.Context, id int64) (Person, error) {
	return findPerson(ctx, d.db.R, `p.id = ?`, id)
}

// PersonByAddress returns the person that has the address now, or [ErrNotFound].
func (d *DB) PersonByAddress(ctx context.Context, address string) (Person, error) {
	return findPerson(ctx, d.db.R, byAddress, api.FoldEmail(address))
}

const byAddress = `p.id = (SELECT a.person FROM addresses a WHERE a.address = ? AND a.ended = 0)`

func findPerson(ctx context.Context, q sqlite.Querier, where string, args ...any) (Person, error) {
	found, err := sqlite.List(ctx, q, scanPerson, `SELECT `+personColumns+` FROM people p WHERE `+where, args...)
	switch {
	case err != nil:
		return Person{}, fmt.Errorf("read person: %w", err)
	case len(found) == 0:
		return Person{}, ErrNotFound
	}
	return found[0], nil
}

// CheckIn fails with [ErrOut] for a person who was removed or is deactivated: see
// [archive.Archive.IsDeactivated].
func (d *DB) CheckIn(ctx context.Context, p Person) error {
	if !p.RemovedAt.IsZero() {
		return ErrOut
	}
	out, err := d.archive.IsDeactivated(ctx, p.Addresses)
	if err == nil && out {
		err = ErrOut
	}
	return err
}

// Out returns which of some people [DB.CheckIn] refuses, by their ids. It reads the
// directory once.
func (d *DB) Out(ctx context.Context, people []Person) (map[int64]bool, error) {
	addresses := make([][]string, len(people))
	for i, p := range people {
		addresses[i] = p.Addresses
	}
	deactivated, err := d.archive.AreDeactivated(ctx, addresses)
	if err != nil {
		return nil, err
	}
	out := map[int64]bool{}
	for i, p := range people {
		if !p.RemovedAt.IsZero() || deactivated[i] {
			out[p.ID] = true
		}
	}
	return out, nil
}

// orElse returns fallback for the errors that say that a person cannot enter, and
// err for any other.
func orElse(err, fallback error) error {
	if errors.Is(err, ErrOut) || errors.Is(err, ErrNotFound) || errors.Is(err, sql.ErrNoRows) {
		return fallback
	}
	return err
}
