package sample

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// player is a person in a script. The transcript knows the address of an invited
// person only.
type player struct {
	name, email, team string
	invited           bool
}

// cast returns the script's people by their keys.
func (s *script) cast() (map[string]*player, error) {
	cast := map[string]*player{}
	for _, p := range Directory().People {
		cast[p.Key] = &player{name: p.Name, email: p.Email, team: p.Team}
	}
	for _, key := range strings.Fields(s.headerValue("who", "")) {
		if cast[key] == nil {
			return nil, fmt.Errorf("invite %s: nobody has this key", key)
		}
		cast[key].invited = true
	}
	for _, l := range s.head["with"] {
		key, rest, _ := strings.Cut(l, " = ")
		name, email, ok := strings.Cut(strings.TrimSuffix(rest, ">"), " <")
		if !ok {
			return nil, fmt.Errorf("invite %q: want KEY = Name <address>", l)
		}
		cast[key] = &player{name: name, email: email, invited: true}
	}
	for _, l := range s.head["guest"] {
		key, name, _ := strings.Cut(l, " = ")
		cast[key] = &player{name: name}
	}
	return cast, nil
}

// addPeople fills the meeting's invitees, in the order of the header, and its
// recorder.
func (s *script) addPeople(m *meeting, cast map[string]*player) error {
	keys := strings.Fields(s.headerValue("who", ""))
	for _, l := range s.head["with"] {
		key, _, _ := strings.Cut(l, " = ")
		keys = append(keys, key)
	}
	for _, key := range keys {
		p := cast[key]
		in := invitee{Name: p.name, Email: p.email, Domain: mailDomain(p.email)}
		if in.Outside = in.Domain != Domain; in.Outside {
			m.DomainsType = "one_or_more_external"
		}
		if slices.ContainsFunc(s.entries, func(e line) bool { return e.key == key }) {
			in.Matched = &p.name
		}
		m.Invitees = append(m.Invitees, in)
	}
	p := cast[s.headerValue("recorder", keys[0])]
	if p == nil || p.email == "" {
		return fmt.Errorf("name its recorder: %q is nobody", s.headerValue("recorder", ""))
	}
	m.RecordedBy = recorder{Name: p.name, Email: p.email, Domain: mailDomain(p.email), Team: orNull(p.team)}
	return nil
}

// addTranscript fills the entries, and their action items and highlights.
func (s *script) addTranscript(m *meeting, cast map[string]*player, starts []time.Duration) error {
	byName := map[string]*player{}
	for _, p := range cast {
		byName[p.name] = p
	}
	for i, e := range s.entries {
		p := cast[e.key]
		if p == nil {
			return fmt.Errorf("let %s speak: nobody has this key", e.key)
		}
		utterance := entry{Speaker: speaker{Name: p.name}, Text: e.text, Timestamp: formatOffset(starts[i])}
		if p.invited {
			utterance.Speaker.Email = &p.email
		}
		m.Transcript = append(m.Transcript, utterance)
		for _, a := range e.actions {
			item := actionItem{Description: a.text, UserGenerated: a.user, Completed: a.completed, Timestamp: utterance.Timestamp,
				PlaybackURL: fmt.Sprintf("%s?timestamp=%.4f", m.ShareURL, starts[i].Seconds()+0.9999)}
			if a.assignee != "-" {
				who := byName[a.assignee]
				if who == nil {
					return fmt.Errorf("assign %q: nobody is called %s", a.text, a.assignee)
				}
				item.Assignee = &assignee{Name: who.name, Email: orNull(who.email), Team: orNull(who.team)}
			}
			m.ActionItems = append(m.ActionItems, item)
		}
		for _, h := range e.highlights {
			end := starts[i+1]
			m.Highlights = append(m.Highlights, mark{Type: h.kind, Summary: h.summary, Start: starts[i].Seconds(), End: end.Seconds() - 0.5, Text: e.text})
		}
	}
	return nil
}

// formatOffset writes a place in a recording as the service does, HH:MM:SS.
func formatOffset(d time.Duration) string {
	n := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", n/3600, n/60%60, n%60)
}

func mailDomain(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
