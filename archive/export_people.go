package archive

import "strings"

// ExportedPerson is somebody who was invited to, spoke in or recorded a meeting.
type ExportedPerson struct {
	Name, Email string // Email may be empty
	File        string // their page below the export's directory, with slashes; "" where there are none
	key         string // the e-mail address, or the name of who has none
}

func personOf(name, email string) (ExportedPerson, bool) {
	name, email = strings.TrimSpace(name), foldEmail(email)
	switch {
	case email != "" && name == "":
		return ExportedPerson{Name: email, Email: email, key: email}, true
	case email != "":
		return ExportedPerson{Name: name, Email: email, key: email}, true
	case name != "":
		return ExportedPerson{Name: name, key: "name:" + name}, true
	}
	return ExportedPerson{}, false
}

// peopleOf lists who was invited to, spoke in or recorded a meeting, each once.
// A speaker without an address is the invitee of that name, if there is one.
func peopleOf(m *ExportedMeeting) []ExportedPerson {
	var all []ExportedPerson
	seen, byName := map[string]bool{}, map[string]bool{}
	add := func(name, email string) {
		p, ok := personOf(name, email)
		if !ok || seen[p.key] || p.Email == "" && byName[p.Name] {
			return
		}
		seen[p.key], byName[p.Name] = true, true
		all = append(all, p)
	}
	add(m.Meeting.RecordedBy.Name, m.Meeting.RecordedBy.Email)
	for _, in := range m.Meeting.CalendarInvitees {
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
