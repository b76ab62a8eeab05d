package roster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/civil"
)

// Detail is one person.
type Detail struct {
	Person
	IDs    []int64  // of the meetings, newest first
	With   []Person // the others there, those of most meetings first; their counts are of these meetings
	Months []Month  // with meetings, newest first
	Spoken []int64  // of the meetings in which the person spoke, newest first
}

// Month counts the meetings of a month.
type Month struct {
	Begin    time.Time
	Meetings int
}

// mostCompany is how many others are named.
const mostCompany = 16

// Person returns the person with an address or name by which the viewer sees somebody. It
// fails with [archive.ErrNotFound] where the viewer sees nobody of it. Months begin in loc.
func (r *Roster) Person(ctx context.Context, q View, key string, loc *time.Location) (*Detail, error) {
	var d *Detail
	err := r.open(ctx, q, func(v *view) error {
		for _, main := range v.mainsOf(key) {
			if d = v.detail(main, loc); d != nil && d.IsNamed(key) {
				return nil
			}
		}
		return fmt.Errorf("read a person: %w", archive.ErrNotFound)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// IsNamed reports whether a name or address is the person's.
func (p *Person) IsNamed(name string) bool {
	fold := notes.Fold(name)
	return slices.ContainsFunc(p.Names, func(own string) bool { return notes.Fold(own) == fold })
}

// detail returns the person of a main key, nil where the viewer sees nobody.
func (v *view) detail(main int32, loc *time.Location) *Detail {
	d, c := &Detail{}, v.newCount()
	for m := range v.visible() {
		roles, items := v.rolesOf(m, main)
		if roles == 0 && !items {
			continue
		}
		c.add(m)
		if roles == 0 {
			continue
		}
		d.IDs = append(d.IDs, m.id)
		if roles&archive.AsSpeaker != 0 {
			d.Spoken = append(d.Spoken, m.id)
		}
		start := time.UnixMilli(m.start).In(loc)
		begin := civil.Day(start.Year(), start.Month(), 1, loc)
		if n := len(d.Months); n == 0 || !d.Months[n-1].Begin.Equal(begin) {
			d.Months = append(d.Months, Month{Begin: begin})
		}
		d.Months[len(d.Months)-1].Meetings++
	}
	own := &c.by[main]
	if len(own.aliases) == 0 {
		return nil
	}
	d.Person = c.finish(own, main)
	own.aliases = nil
	for _, p := range c.people() {
		if p.Meetings > 0 && len(d.With) < mostCompany {
			d.With = append(d.With, p)
		}
	}
	return d
}

// rolesOf returns how a person appears in a meeting, and whether with action items.
func (v *view) rolesOf(m *meeting, main int32) (roles archive.AppearanceRole, items bool) {
	for _, p := range m.people {
		if v.person(p.alias) == main {
			roles |= p.roles()
		}
	}
	for _, i := range m.items {
		items = items || v.person(i.alias) == main
	}
	return roles, items
}
