package roster

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
)

// Person is somebody who appears in meetings that the viewer sees, with all counts of
// these meetings alone.
type Person struct {
	Key         string   // an address or name by which the viewer sees the person
	Name        string   // to show
	Names       []string // all addresses and names by which the viewer sees the person, Key first
	Meetings    int
	Spoke       int           // in so many of them
	Time        time.Duration // of the meetings
	Words, Said int64         // the person's, and everybody's in the meetings in which the person spoke
	Last        time.Time     // start of the newest meeting; zero when it is not known
	Open, Done  int           // action items; Done also those done here
}

// Share returns the person's share of the words, from 0 to 1, where the person spoke.
func (p Person) Share() float64 {
	if p.Said == 0 {
		return 0
	}
	return float64(p.Words) / float64(p.Said)
}

// People returns everybody who recorded, was invited to or spoke in a meeting that the
// viewer sees, or has an action item of one, those of most meetings first.
func (r *Roster) People(ctx context.Context, q View) ([]Person, error) {
	var people []Person
	err := r.open(ctx, q, func(v *view) error {
		c := v.newCount()
		for m := range v.visible() {
			c.add(m)
		}
		people = c.people()
		return nil
	})
	return people, err
}

// count adds meetings up by person.
type count struct {
	*view
	by   []tally // by main key
	seen int32
}

// tally holds the counts of a person.
type tally struct {
	Person
	aliases []int32 // by which the viewer sees the person, the newest first
	seen    int32   // the last meeting that was counted
	spoke   int32   // likewise, in which the person spoke
}

func (v *view) newCount() *count { return &count{view: v, by: make([]tally, len(v.main))} }

// add counts a meeting.
func (c *count) add(m *meeting) {
	c.seen++
	said := int64(0)
	for _, p := range m.people {
		said += p.words()
	}
	for _, p := range m.people {
		t := c.tally(p.alias)
		if t.seen != c.seen {
			t.seen = c.seen
			t.Meetings++
			t.Time += m.duration()
			if t.Last.IsZero() && m.start != 0 {
				t.Last = time.UnixMilli(m.start).UTC()
			}
		}
		if p.roles()&archive.AsSpeaker != 0 {
			t.Words += p.words()
			if t.spoke != c.seen {
				t.spoke = c.seen
				t.Spoke++
				t.Said += said
			}
		}
	}
	c.addItems(m, &Person{})
}

// tally returns the tally of the person with an alias, which it notes.
func (c *count) tally(alias int32) *tally {
	t := &c.by[c.person(alias)]
	if n := len(t.aliases); n == 0 || t.aliases[n-1] != alias && !slices.Contains(t.aliases, alias) {
		t.aliases = append(t.aliases, alias)
	}
	return t
}

// people returns everybody who was counted.
func (c *count) people() []Person {
	var all []Person
	for i := range c.by {
		if t := &c.by[i]; len(t.aliases) > 0 {
			all = append(all, c.finish(t, int32(i))) //nolint:gosec // as index.add
		}
	}
	slices.SortFunc(all, func(a, b Person) int {
		return cmp.Or(cmp.Compare(b.Meetings, a.Meetings), cmp.Compare(b.Words, a.Words), compareNames(a, b))
	})
	return all
}

// comparePeopleByItems orders people by their open action items, most first.
func comparePeopleByItems(a, b Person) int {
	return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Done, a.Done), compareNames(a, b))
}

func compareNames(a, b Person) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Key, b.Key))
}

// finish names a person whose main key is given: only by names that the viewer sees.
func (c *count) finish(t *tally, main int32) Person {
	p, named := t.Person, false
	for _, id := range t.aliases {
		a := c.aliases[id]
		if key := c.keys.texts[a.key]; !slices.Contains(p.Names, key) {
			p.Names = append(p.Names, key)
			if a.key == main {
				p.Key = key
			}
		}
	}
	if p.Key == "" {
		p.Key = p.Names[0]
	}
	for _, id := range t.aliases { // the newest name of the main key, else the newest
		a := c.aliases[id]
		switch {
		case a.name == "":
			continue
		case p.Name == "":
			p.Name = a.name
		case !named && c.keys.texts[a.key] == p.Key:
			p.Name = a.name
		}
		named = named || c.keys.texts[a.key] == p.Key
		if !slices.Contains(p.Names, a.name) {
			p.Names = append(p.Names, a.name)
		}
	}
	if p.Name == "" {
		p.Name = p.Key
	}
	i := slices.Index(p.Names, p.Key)
	p.Names = slices.Insert(slices.Delete(p.Names, i, i+1), 0, p.Key)
	return p
}
