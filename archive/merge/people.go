package merge

import (
	"encoding/json"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/internal/rawjson"
)

// person is a recorder or an invitee: of the greatest version, to which older
// ones add, or of an older one.
type person struct {
	raw     json.RawMessage            // as received
	values  map[string]json.RawMessage // nil when raw is no object
	filled  bool                       // values has more than raw
	address string                     // of values, normalized
	name    string                     // of values
	isNamed bool                       // its list of invitees knows it by name
}

func readPerson(raw json.RawMessage) *person {
	p := &person{raw: raw, values: rawjson.Map(raw)}
	p.readNames()
	return p
}

func (p *person) readNames() {
	p.address, p.name = api.FoldEmail(p.text("email")), strings.TrimSpace(p.text("name"))
}

// text returns a member's text, "" when it has none.
func (p *person) text(key string) string {
	if value := p.values[key]; value != nil && rank(key, value) == rankContent { // so it is a string
		return rawjson.Text(value)
	}
	return ""
}

// fillFrom adds the members of an older version that outrank p's, of the given keys or, without
// any, of all, and tells whether there were any.
func (p *person) fillFrom(older *person, keys ...string) (filled bool) {
	for key, value := range older.values {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			continue
		}
		if current, ok := p.values[key]; !ok || outranks(key, value, current) {
			p.values[key], filled = value, true
		}
	}
	if filled {
		p.filled = true
		p.readNames()
	}
	return filled
}

// json returns the merged person, and the received bytes when nothing was added.
func (p *person) json() json.RawMessage {
	if !p.filled {
		return p.raw
	}
	return assemble(p.raw, p.values)
}

// matches reports whether an older version's recorder is the same person.
func (p *person) matches(older *person) bool {
	if p.address != "" && older.address != "" {
		return p.address == older.address
	}
	return !contradicts(p.name, older.name)
}

func contradicts(a, b string) bool { return a != "" && b != "" && a != b }

// mergeRecorder fills the recorder from older versions of the same person.
func (m *merging) mergeRecorder() {
	at := m.distinct(keyRecorder, m.countingOrder())
	if len(at) < 2 {
		return
	}
	p := readPerson(m.values[keyRecorder])
	m.fillFromAll(at[1:], func(i int, keys ...string) bool {
		older := readPerson(m.members[i][keyRecorder])
		return p.matches(older) && p.fillFrom(older, keys...)
	})
	m.values[keyRecorder] = p.json()
}

// fillFromAll calls fill for each of the inputs: for names and addresses until none is added any
// more, since those that an older one gave can match one that is newer, and then for all members,
// so that each is of the greatest of those that match.
func (m *merging) fillFromAll(at []int, fill func(i int, keys ...string) (gave bool)) (filled bool) {
	once := func(keys ...string) (more bool) {
		for _, i := range at {
			if fill(i, keys...) {
				m.gave[i], more, filled = true, true, true
			}
		}
		return more
	}
	for once("name", "email") {
	}
	once()
	return filled
}

// sharingTeam returns the recorder's team for visibility: the team of the first version in
// sharingOrder whose recorder is the merged one. It is called last.
func (m *merging) sharingTeam() string {
	p := readPerson(m.values[keyRecorder])
	for _, i := range m.distinct(keyRecorder, m.sharingOrder()) {
		if q := readPerson(m.members[i][keyRecorder]); p.matches(q) {
			return q.text("team")
		}
	}
	return ""
}

// invited is a list of invitees.
type invited struct {
	people    []*person
	byAddress map[string]*person   // the first with it
	byName    map[string][]*person // as received
	taken     map[string][]*person // by the names that they have from older versions
}

// namesAnybody reports whether an invitee of a list has a name or an address.
func namesAnybody(raw json.RawMessage) bool {
	return slices.ContainsFunc(elements(raw), func(element json.RawMessage) bool {
		p := readPerson(element)
		return p.address != "" || p.name != ""
	})
}

func readInvited(raw json.RawMessage) *invited {
	l := &invited{byAddress: map[string]*person{}, byName: map[string][]*person{}, taken: map[string][]*person{}}
	for _, element := range elements(raw) {
		p := readPerson(element)
		l.people = append(l.people, p)
		if p.name != "" {
			p.isNamed, l.byName[p.name] = true, append(l.byName[p.name], p)
		}
		l.claim(p)
	}
	return l
}

// claim makes p's address and name p's, unless they are another's already.
func (l *invited) claim(p *person) {
	if p.address != "" && l.byAddress[p.address] == nil {
		l.byAddress[p.address] = p
	}
	if p.name != "" && !p.isNamed {
		p.isNamed, l.taken[p.name] = true, append(l.taken[p.name], p)
	}
}

// fillDuplicates fills the first invitee of an address from the others with it.
func (l *invited) fillDuplicates() {
	for _, p := range l.people {
		if first := l.byAddress[p.address]; first != nil && first != p {
			first.fillFrom(p)
		}
	}
}

// mergeInvitees fills the invitees from the same people in older lists.
func (m *merging) mergeInvitees() {
	at := m.distinct(keyInvitees, m.countingOrder())
	if len(at) < 2 {
		return
	}
	list := readInvited(m.values[keyInvitees])
	lists := map[int]*invited{}
	for _, i := range at[1:] {
		lists[i] = readInvited(m.members[i][keyInvitees])
		lists[i].fillDuplicates()
	}
	filled := m.fillFromAll(at[1:], func(i int, keys ...string) (gave bool) {
		older := lists[i]
		for _, p := range list.people {
			if q := list.findIn(p, older); q != nil && p.fillFrom(q, keys...) {
				gave = true
				list.claim(p)
			}
		}
		return gave
	})
	if filled {
		m.values[keyInvitees] = list.json()
	}
}

// findIn returns the same person in an older list, nil when there is none.
func (l *invited) findIn(p *person, older *invited) *person {
	if q := older.byAddress[p.address]; q != nil {
		return q
	}
	same, here := older.byName[p.name], l.byName[p.name]
	if len(here) == 0 {
		here = l.taken[p.name]
	}
	if len(same) != 1 || len(here) != 1 || here[0] != p {
		return nil
	}
	q := same[0]
	if owner := l.byAddress[q.address]; contradicts(p.address, q.address) || owner != nil && owner != p {
		return nil
	}
	return q
}

func (l *invited) json() json.RawMessage {
	out := []byte{'['}
	for i, p := range l.people {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p.json()...)
	}
	return append(out, ']')
}
