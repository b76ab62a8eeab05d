package archive

import (
	"encoding/json"
	"strings"
)

// person is a recorder or an invitee: of the greatest version, to which older
// ones add, or of an older one.
type person struct {
	raw     json.RawMessage            // as it came
	values  map[string]json.RawMessage // none of what is not an object
	filled  bool                       // values has more than raw
	address string                     // as it came, folded
	name    string                     // as it came
}

func readPerson(raw json.RawMessage) *person {
	p := &person{raw: raw, values: members(raw)}
	p.address, p.name = p.addressNow(), p.nameNow()
	return p
}

func (p *person) addressNow() string { return foldEmail(p.text("email")) }
func (p *person) nameNow() string    { return strings.TrimSpace(p.text("name")) }

// text is a member's text, empty when it has none.
func (p *person) text(key string) (s string) {
	if value, ok := p.values[key]; ok && rank(key, value) == rankContent {
		_ = json.Unmarshal(value, &s) // not a string: empty
	}
	return s
}

// take adds the members of an older version's that are better than p's, and
// tells whether there were any.
func (p *person) take(older *person) (took bool) {
	for key, value := range older.values {
		if held, ok := p.values[key]; !ok || outranks(key, value, held) {
			p.values[key], took = value, true
		}
	}
	p.filled = p.filled || took
	return took
}

// json is the person as merged; as it came when nothing was added.
func (p *person) json() json.RawMessage {
	if !p.filled {
		return p.raw
	}
	return assemble(p.raw, p.values)
}

// matches tells whether an older version's recorder is this one.
func (p *person) matches(older *person) bool {
	if p.address != "" && older.address != "" {
		return p.address == older.address
	}
	return !contradicts(p.addressNow(), older.address) && !contradicts(p.nameNow(), older.name)
}

func contradicts(a, b string) bool { return a != "" && b != "" && a != b }

// foldRecorder adds to the recorder what older versions of the same one have.
func (f *folding) foldRecorder() {
	at := f.distinct(keyRecorder)
	if len(at) < 2 {
		return
	}
	p := readPerson(f.values[keyRecorder])
	for _, i := range at[1:] {
		if older := readPerson(f.read[i][keyRecorder]); p.matches(older) && p.take(older) {
			f.gave[i] = true
		}
	}
	f.values[keyRecorder] = p.json()
}

// sharingTeam is the recorder's team for visibility: that of the greatest
// version whose recorder is the merged one. It is called last.
func (f *folding) sharingTeam() string {
	p := readPerson(f.values[keyRecorder])
	for _, i := range f.distinct(keyRecorder) {
		if q := readPerson(f.read[i][keyRecorder]); p.matches(q) {
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

func readInvited(raw json.RawMessage) *invited {
	l := &invited{byAddress: map[string]*person{}, byName: map[string][]*person{}}
	for _, element := range elements(raw) {
		p := readPerson(element)
		l.people = append(l.people, p)
		l.own(p, p.address)
		if p.name != "" {
			l.byName[p.name] = append(l.byName[p.name], p)
		}
	}
	return l
}

// own makes an address p's, unless it is another's already.
func (l *invited) own(p *person, address string) {
	if address != "" && l.byAddress[address] == nil {
		l.byAddress[address] = p
	}
}

// join adds to the first with an address what the others with it have.
func (l *invited) join() {
	for _, p := range l.people {
		if first := l.byAddress[p.address]; first != nil && first != p {
			first.take(p)
		}
	}
}

// foldInvitees adds to the invitees what older lists have of the same ones.
func (f *folding) foldInvitees() {
	at := f.distinct(keyInvitees)
	if len(at) < 2 {
		return
	}
	list := readInvited(f.values[keyInvitees])
	filled := false
	for _, i := range at[1:] {
		older := readInvited(f.read[i][keyInvitees])
		older.join()
		for _, p := range list.people {
			if q := list.match(p, older); q != nil && p.take(q) {
				f.gave[i], filled = true, true
				list.own(p, p.addressNow())
			}
		}
	}
	if filled {
		f.values[keyInvitees] = list.json()
	}
}

// match returns who p is in an older list, nil when nobody.
func (l *invited) match(p *person, older *invited) *person {
	if q := older.byAddress[p.address]; q != nil {
		return q
	}
	same := older.byName[p.name]
	if len(same) != 1 || len(l.byName[p.name]) != 1 {
		return nil
	}
	q := same[0]
	if owner := l.byAddress[q.address]; contradicts(p.addressNow(), q.address) || owner != nil && owner != p {
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
