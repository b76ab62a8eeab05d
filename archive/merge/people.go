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
	address string                     // as received, normalized
	name    string                     // as received
}

func readPerson(raw json.RawMessage) *person {
	p := &person{raw: raw, values: rawjson.Map(raw)}
	p.address, p.name = p.currentAddress(), p.currentName()
	return p
}

func (p *person) currentAddress() string { return api.FoldEmail(p.text("email")) }
func (p *person) currentName() string    { return strings.TrimSpace(p.text("name")) }

// text returns a member's text, "" when it has none.
func (p *person) text(key string) string {
	if value := p.values[key]; value != nil && rank(key, value) == rankContent { // so it is a string
		return rawjson.Text(value)
	}
	return ""
}

// fillFrom adds the members of an older version that outrank p's, and tells
// whether there were any.
func (p *person) fillFrom(older *person) (filled bool) {
	for key, value := range older.values {
		if current, ok := p.values[key]; !ok || outranks(key, value, current) {
			p.values[key], filled = value, true
		}
	}
	p.filled = p.filled || filled
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
	return !contradicts(p.currentAddress(), older.address) && !contradicts(p.currentName(), older.name)
}

func contradicts(a, b string) bool { return a != "" && b != "" && a != b }

// mergeRecorder fills the recorder from older versions of the same person.
func (m *merging) mergeRecorder() {
	at := m.distinct(keyRecorder, m.countingOrder())
	if len(at) < 2 {
		return
	}
	p := readPerson(m.values[keyRecorder])
	for _, i := range at[1:] {
		if older := readPerson(m.members[i][keyRecorder]); p.matches(older) && p.fillFrom(older) {
			m.gave[i] = true
		}
	}
	m.values[keyRecorder] = p.json()
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
	byAddress map[string]*person // the first with it
	byName    map[string][]*person
}

// namesAnybody reports whether an invitee of a list has a name or an address.
func namesAnybody(raw json.RawMessage) bool {
	return slices.ContainsFunc(elements(raw), func(element json.RawMessage) bool {
		p := readPerson(element)
		return p.address != "" || p.name != ""
	})
}

func readInvited(raw json.RawMessage) *invited {
	l := &invited{byAddress: map[string]*person{}, byName: map[string][]*person{}}
	for _, element := range elements(raw) {
		p := readPerson(element)
		l.people = append(l.people, p)
		l.claim(p, p.address)
		if p.name != "" {
			l.byName[p.name] = append(l.byName[p.name], p)
		}
	}
	return l
}

// claim makes an address p's, unless it is another's already.
func (l *invited) claim(p *person, address string) {
	if address != "" && l.byAddress[address] == nil {
		l.byAddress[address] = p
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
	filled := false
	for _, i := range at[1:] {
		older := readInvited(m.members[i][keyInvitees])
		older.fillDuplicates()
		for _, p := range list.people {
			if q := list.findIn(p, older); q != nil && p.fillFrom(q) {
				m.gave[i], filled = true, true
				list.claim(p, p.currentAddress())
			}
		}
	}
	if filled {
		m.values[keyInvitees] = list.json()
	}
}

// findIn returns the same person in an older list, nil when there is none.
func (l *invited) findIn(p *person, older *invited) *person {
	if q := older.byAddress[p.address]; q != nil {
		return q
	}
	same := older.byName[p.name]
	if len(same) != 1 || len(l.byName[p.name]) != 1 {
		return nil
	}
	q := same[0]
	if owner := l.byAddress[q.address]; contradicts(p.currentAddress(), q.address) || owner != nil && owner != p {
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
