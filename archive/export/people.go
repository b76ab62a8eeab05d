package export

import (
	"strings"

	"minutebook/api"
)

// Person is a person who was invited to, spoke in or recorded a meeting.
type Person struct {
	Name, Email string // Email may be empty
	File        string // their page below the export's directory, with slashes; "" where there are none
	key         string // the e-mail address, else the name
}

func personOf(name, email string) (Person, bool) {
	name, email = strings.TrimSpace(name), api.FoldEmail(email)
	switch {
	case email != "" && name == "":
		return Person{Name: email, Email: email, key: email}, true
	case email != "":
		return Person{Name: name, Email: email, key: email}, true
	case name != "":
		return Person{Name: name, key: "name:" + name}, true
	}
	return Person{}, false
}

// peopleOf returns the people who were invited to, spoke in or recorded a meeting.
// A speaker without an address is the invitee of that name, if there is one.
func peopleOf(m *Meeting) []Person {
	var all []Person
	seen, byName := map[string]bool{}, map[string]bool{}
	add := func(name, email string) {
		p, ok := personOf(name, email)
		if !ok || seen[p.key] || p.Email == "" && byName[p.Name] {
			return
		}
		seen[p.key], byName[p.Name] = true, true
		all = append(all, p)
	}
	add(m.Notes.RecordedBy.Name, m.Notes.RecordedBy.Email)
	for _, in := range m.Notes.CalendarInvitees {
		add(in.Name.Or(""), in.Email.Or(""))
		if matched := in.MatchedSpeakerDisplayName.Or(""); matched != "" {
			byName[matched] = true
		}
	}
	for _, e := range m.Entries {
		add(e.Speaker, e.Email)
	}
	return all
}
