package archive

import (
	"strings"
)

// participant is somebody of a meeting. key is the e-mail address, or the name
// of who has none.
type participant struct{ key, name, email string }

func participantOf(name, email string) (participant, bool) {
	name, email = strings.TrimSpace(name), foldEmail(email)
	switch {
	case email != "" && name == "":
		return participant{email, email, email}, true
	case email != "":
		return participant{email, name, email}, true
	case name != "":
		return participant{"name:" + name, name, ""}, true
	}
	return participant{}, false
}

// peopleOf lists who was invited to, spoke in or recorded a meeting, each once.
// A speaker without an address is the invitee of that name, if there is one.
func peopleOf(m *ExportedMeeting) []participant {
	var all []participant
	seen, byName := map[string]bool{}, map[string]bool{}
	add := func(name, email string) {
		p, ok := participantOf(name, email)
		if !ok || seen[p.key] || p.email == "" && byName[p.name] {
			return
		}
		seen[p.key], byName[p.name] = true, true
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
