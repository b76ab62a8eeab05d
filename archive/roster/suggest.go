package roster

import (
	"cmp"
	"slices"
	"strings"

	"minutebook/archive/notes"
)

// Suggestion is two persons who may be one.
type Suggestion struct {
	Person, Other Person // Other has fewer meetings or no address
	Company       string // the domain of both addresses; "" where one is known by name alone
}

// Suggest returns persons who may be one, those of most meetings first: somebody known by
// name alone and the only one of that name who has an address, and two with one name and
// addresses of one company. It leaves out those of whom somebody said that they are not.
func Suggest(people []Person, g *notes.Groups) []Suggestion {
	byName := map[string][]*Person{}
	for i := range people {
		p := &people[i]
		for _, name := range p.Names {
			if !strings.Contains(name, "@") {
				name = notes.Fold(name)
				if !slices.Contains(byName[name], p) {
					byName[name] = append(byName[name], p)
				}
			}
		}
	}
	var all []Suggestion
	for _, same := range byName {
		all = append(all, suggestAmong(same, g)...)
	}
	slices.SortFunc(all, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Other.Meetings, a.Other.Meetings), cmp.Compare(a.Person.Key, b.Person.Key), cmp.Compare(a.Other.Key, b.Other.Key))
	})
	return slices.CompactFunc(all, func(a, b Suggestion) bool { return a.Person.Key == b.Person.Key && a.Other.Key == b.Other.Key })
}

// suggestAmong is Suggest for persons with one name.
func suggestAmong(same []*Person, g *notes.Groups) (all []Suggestion) {
	var bare, addressed []*Person
	for _, p := range same {
		if p.domain() == "" {
			bare = append(bare, p)
		} else {
			addressed = append(addressed, p)
		}
	}
	add := func(p, other *Person, company string) {
		if !g.Apart(p.Key, other.Key) {
			all = append(all, Suggestion{*p, *other, company})
		}
	}
	if len(addressed) == 1 {
		for _, p := range bare {
			add(addressed[0], p, "")
		}
	}
	for i, p := range addressed {
		for _, other := range addressed[i+1:] {
			if company := p.domain(); company == other.domain() {
				add(p, other, company)
			}
		}
	}
	return all
}

// domain returns the domain of the person's first address, "" without one.
func (p *Person) domain() string {
	for _, name := range p.Names {
		if _, domain, ok := strings.Cut(name, "@"); ok {
			return domain
		}
	}
	return ""
}
