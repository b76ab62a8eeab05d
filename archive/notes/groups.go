package notes

import (
	"context"
	"slices"
	"strings"
)

// Groups are the persons that follow from all judgements, at one moment. They do not
// change.
type Groups struct {
	judgements []Judgement
	same       map[string][]string // by folded name: all names of the person
}

// Groups returns the persons with several names.
func (d *DB) Groups(ctx context.Context) (*Groups, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.groups == nil {
		judgements, err := d.Judgements(ctx)
		if err != nil {
			return nil, err
		}
		d.groups = newGroups(judgements)
	}
	return d.groups, nil
}

// dropCaches makes the next Groups and AllTicks read the rows again.
func (d *DB) dropCaches() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups, d.ticks = nil, nil
}

// newGroups joins judgements that share a name. The names keep the order in which they
// were first given.
func newGroups(judgements []Judgement) *Groups {
	g := &Groups{judgements: judgements, same: map[string][]string{}}
	for _, j := range judgements {
		if !j.Same {
			continue
		}
		var all []string
		for _, name := range j.Names {
			for _, known := range append(slices.Clone(g.same[Fold(name)]), name) {
				if !slices.ContainsFunc(all, func(s string) bool { return Fold(s) == Fold(known) }) {
					all = append(all, known)
				}
			}
		}
		for _, name := range all {
			g.same[Fold(name)] = all
		}
	}
	return g
}

// Fold returns a name or address as it is compared: in small letters, with one space between
// words. Browsers send names back with other ends of lines than they got, and without NUL.
func Fold(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(cleanName(name), "\x00", "\ufffd")), " "))
}

// Same returns all names and addresses of the person with this one: at least itself. The
// first is the one that is shown.
func (g *Groups) Same(name string) []string {
	if all := g.same[Fold(name)]; len(all) > 0 {
		return slices.Clone(all)
	}
	return []string{name}
}

// All returns the names of each person with several.
func (g *Groups) All() [][]string {
	var all [][]string
	for name, names := range g.same {
		if Fold(names[0]) == name {
			all = append(all, names)
		}
	}
	return all
}

// Apart tells whether somebody said that two names or addresses are not one person.
func (g *Groups) Apart(name, other string) bool {
	a, b := Fold(name), Fold(other)
	return slices.ContainsFunc(g.judgements, func(j Judgement) bool {
		if j.Same || len(j.Names) != 2 {
			return false
		}
		x, y := Fold(j.Names[0]), Fold(j.Names[1])
		return x == a && y == b || x == b && y == a
	})
}

// JudgementsOf returns the judgements that made a person of the names with this one, the oldest
// first.
func (g *Groups) JudgementsOf(name string) []Judgement {
	all := g.same[Fold(name)]
	var list []Judgement
	for _, j := range g.judgements {
		if j.Same && slices.ContainsFunc(all, func(s string) bool { return Fold(s) == Fold(j.Names[0]) }) {
			list = append(list, j)
		}
	}
	return list
}
