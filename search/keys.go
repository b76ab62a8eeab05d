package search

import (
	"strconv"
	"strings"

	"minutebook/api"
	"minutebook/search/text"
)

// Kinds of keys: each begins the terms of [segment.FieldKeys] that one filter asks for.
const (
	keyMeeting     = "m:"  // in moments, the meeting they are of
	keySpeaker     = "sp:" // full folded name, each word of it, address; in moments the one key of a speaker
	keySpeakerName = "vo:" // a name as under keySpeaker, a zero byte, and the speaker it may stand for
	keyPerson      = "pe:"
	keyRecorder    = "re:"
	keyAssignee    = "as:"
	keyEmail       = "em:"
	keyDomain      = "do:"
	keyTeam        = "te:"
	keyType        = "ty:"
	keyLanguage    = "la:"
	keyHas         = "ha:"
	keyIs          = "is:"
	keyAction      = "ac:"
	keySees        = "vi:" // principals, see archive.Principals
)

// meetingKeys lists the keys of a meeting.
func meetingKeys(s *source) []string {
	set := map[string]bool{}
	m := s.meeting
	for _, p := range s.speakers() {
		for name := range namesOf(p) {
			set[keySpeaker+name] = true
			set[keySpeakerName+name+"\x00"+speakerID(p)] = true
		}
	}
	for _, p := range s.people() {
		addPerson(set, keyPerson, p)
		if p.email != "" {
			set[keyEmail+strings.ToLower(p.email)] = true
		}
	}
	for _, domain := range s.domains() {
		set[keyDomain+domain] = true
	}
	addPerson(set, keyRecorder, s.recorder())
	addValue(set, keyTeam, m.RecordedBy.Team.Or(""))
	addValue(set, keyType, m.MeetingType.Or(""))
	addValue(set, keyLanguage, s.row.Language)
	if base := text.BaseCode(s.row.Language); base != "" {
		set[keyLanguage+base] = true
	}
	for _, a := range m.ActionItems.Or(nil) {
		who, _ := a.Assignee.Get()
		addPerson(set, keyAssignee, participant{who.Name.Or(""), who.Email.Or("")})
		set[keyAction+actionState(a)] = true
	}
	for _, has := range listParts(s) {
		set[keyHas+has] = true
	}
	for _, is := range listKinds(s) {
		set[keyIs+is] = true
	}
	for _, p := range s.principals {
		set[keySees+p] = true
	}
	return keysOf(set)
}

func actionState(a api.ActionItem) string {
	if a.Completed {
		return "done"
	}
	return "open"
}

func addValue(set map[string]bool, kind, value string) {
	if v := text.Fold(value); v != "" {
		set[kind+v] = true
	}
}

// addPerson adds the keys that a person is found by.
func addPerson(set map[string]bool, kind string, p participant) {
	for name := range namesOf(p) {
		set[kind+name] = true
	}
}

// namesOf returns the names that a person is found by: the folded name, its words, and
// the address.
func namesOf(p participant) map[string]bool {
	set := map[string]bool{}
	addValue(set, "", p.name)
	for _, t := range text.Tokenize(p.name) {
		set[t.Term] = true
	}
	if p.email != "" {
		set[strings.ToLower(p.email)] = true
	}
	return set
}

// speakerID returns the one key of a speaker in moments.
func speakerID(p participant) string { return text.Fold(p.name) + "\x00" + strings.ToLower(p.email) }

func domainOf(email string) string {
	return email[strings.LastIndexByte(email, '@')+1:]
}

func listParts(s *source) []string {
	r := s.row
	var out []string
	for _, h := range []struct {
		name string
		has  bool
	}{
		{"video", r.HasVideo}, {"audio", r.HasAudio}, {"transcript", r.HasTranscript}, {"summary", r.HasSummary},
		{"actions", r.HasActionItems}, {"highlights", r.HasHighlights}, {"crm", len(crmLines(s.crm, anyPrincipal)) > 0},
	} {
		if h.has {
			out = append(out, h.name)
		}
	}
	return out
}

func listKinds(s *source) []string {
	var out []string
	switch s.meeting.CalendarInviteesDomainsType {
	case api.DomainsExternal:
		out = append(out, "external")
	case api.DomainsOnlyInternal:
		out = append(out, "internal")
	}
	if s.meeting.SharedWith == api.SharedNoTeams {
		out = append(out, "private")
	}
	if s.row.Gone {
		out = append(out, "gone")
	}
	return out
}

// momentID names a moment: the meeting, its first entry and the entry after
// its last.
func momentID(meeting int64, s entryRange) string {
	return strconv.FormatInt(meeting, 10) + ":" + strconv.Itoa(s.From) + ":" + strconv.Itoa(s.To)
}

// readMomentID takes a moment's name apart; ok is false for any other string.
func readMomentID(id []byte) (meeting int64, s entryRange, ok bool) {
	parts := strings.Split(string(id), ":")
	if len(parts) != 3 {
		return 0, s, false
	}
	meeting, err := strconv.ParseInt(parts[0], 10, 64)
	from, err1 := strconv.Atoi(parts[1])
	to, err2 := strconv.Atoi(parts[2])
	return meeting, entryRange{from, to}, err == nil && err1 == nil && err2 == nil
}
