package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"

	"minutebook/internal/rawjson"
)

// Meeting is an item of the meetings list and the body of a webhook delivery
// (specification 2.2). Nullable fields and content are [Opt], to distinguish
// requested content that does not exist yet, content not requested, and empty
// content.
type Meeting struct {
	Title                       string      `json:"title"`
	MeetingTitle                Opt[string] `json:"meeting_title,omitzero"`
	MeetingType                 Opt[string] `json:"meeting_type,omitzero"`
	RecordingID                 int64       `json:"recording_id"` // not the number inside URL
	URL                         string      `json:"url"`
	ShareURL                    string      `json:"share_url"`
	CreatedAt                   Time        `json:"created_at"`
	ScheduledStartTime          Time        `json:"scheduled_start_time"`
	ScheduledEndTime            Time        `json:"scheduled_end_time"`
	RecordingStartTime          Time        `json:"recording_start_time"`
	RecordingEndTime            Time        `json:"recording_end_time"`
	CalendarInviteesDomainsType string      `json:"calendar_invitees_domains_type"`
	SharedWith                  string      `json:"shared_with"`
	TranscriptLanguage          string      `json:"transcript_language"` // may be "unknown"
	CalendarInvitees            []Invitee   `json:"calendar_invitees"`
	RecordedBy                  Recorder    `json:"recorded_by"`
	MeetingURL                  Opt[string] `json:"meeting_url,omitzero"`

	Transcript     Opt[[]TranscriptEntry] `json:"transcript,omitzero"`
	DefaultSummary Opt[Summary]           `json:"default_summary,omitzero"`
	ActionItems    Opt[[]ActionItem]      `json:"action_items,omitzero"`
	Highlights     Opt[[]Highlight]       `json:"highlights,omitzero"`
	CRMMatches     Opt[CRMMatches]        `json:"crm_matches,omitzero"`

	// Extra holds the keys that the specification does not name, verbatim.
	Extra map[string]json.RawMessage `json:"-"`
}

// Values of Meeting.CalendarInviteesDomainsType and of the list's filter, whose
// default is DomainsAll.
const (
	DomainsAll          = "all"
	DomainsOnlyInternal = "only_internal"
	DomainsExternal     = "one_or_more_external"
)

// Values of Meeting.SharedWith.
const (
	SharedNoTeams       = "no_teams"
	SharedSingleTeam    = "single_team"
	SharedMultipleTeams = "multiple_teams"
	SharedAllTeams      = "all_teams"
)

// field returns the destination for the value of a key, or nil where the
// specification has no such key. Keys are compared exactly.
func (m *Meeting) field(key string) any {
	switch key {
	case "title":
		return &m.Title
	case "meeting_title":
		return &m.MeetingTitle
	case "meeting_type":
		return &m.MeetingType
	case "recording_id":
		return &m.RecordingID
	case "url":
		return &m.URL
	case "share_url":
		return &m.ShareURL
	case "created_at":
		return &m.CreatedAt
	case "scheduled_start_time":
		return &m.ScheduledStartTime
	case "scheduled_end_time":
		return &m.ScheduledEndTime
	case "recording_start_time":
		return &m.RecordingStartTime
	case "recording_end_time":
		return &m.RecordingEndTime
	case "calendar_invitees_domains_type":
		return &m.CalendarInviteesDomainsType
	case "shared_with":
		return &m.SharedWith
	case "transcript_language":
		return &m.TranscriptLanguage
	case "calendar_invitees":
		return &m.CalendarInvitees
	case "recorded_by":
		return &m.RecordedBy
	case "meeting_url":
		return &m.MeetingURL
	}
	return m.content(key)
}

func (m *Meeting) content(key string) any {
	switch Part(key) {
	case PartTranscript:
		return &m.Transcript
	case PartSummary:
		return &m.DefaultSummary
	case PartActionItems:
		return &m.ActionItems
	case PartHighlights:
		return &m.Highlights
	case PartCRM:
		return &m.CRMMatches
	}
	return nil
}

// UnmarshalJSON reads a meeting leniently: it fails only on input that is no JSON
// object. Mistyped fields stay zero or absent, unknown keys go to Extra. Action
// items and highlights that say nothing are left out, and all entries of a transcript
// without content: between others they stay, since moments are addressed by their numbers.
func (m *Meeting) UnmarshalJSON(b []byte) error {
	*m = Meeting{}
	if string(b) == "null" {
		return nil
	}
	members, err := rawjson.Members(b)
	if err != nil {
		return fmt.Errorf("decode meeting: %w", err)
	}
	for _, member := range members {
		target := m.field(member.Key)
		switch {
		case target == nil:
			if m.Extra == nil {
				m.Extra = map[string]json.RawMessage{}
			}
			m.Extra[member.Key] = bytes.Clone(member.Value)
		case target == &m.RecordingID:
			m.RecordingID, _ = parseID(member.Value)
		case target == &m.Transcript && member.Value[0] == '[' && !hasContent(PartTranscript, member.Value):
			m.Transcript = Some([]TranscriptEntry{})
		default:
			_ = decodeLenient(member.Value, target) // mistyped: as if absent
		}
	}
	dropBlank(&m.ActionItems)
	dropBlank(&m.Highlights)
	return nil
}

// MarshalJSON writes every required key, the optional ones that are present,
// and Extra after them in the order of its keys.
func (m Meeting) MarshalJSON() ([]byte, error) {
	type alias Meeting
	if m.CalendarInvitees == nil {
		m.CalendarInvitees = []Invitee{}
	}
	b, err := json.Marshal(alias(m))
	if err != nil || len(m.Extra) == 0 {
		return b, err
	}
	keys := make([]string, 0, len(m.Extra))
	for k := range m.Extra {
		if m.field(k) == nil {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	b = b[:len(b)-1]
	for _, k := range keys {
		name, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), name...), ':'), m.Extra[k]...)
	}
	return append(b, '}'), nil
}
