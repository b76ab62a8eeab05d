package api

// Invitee is a person of the calendar event behind a meeting.
type Invitee struct {
	Name                      Opt[string] `json:"name,omitzero"`
	Email                     Opt[string] `json:"email,omitzero"`
	EmailDomain               Opt[string] `json:"email_domain,omitzero"`
	IsExternal                bool        `json:"is_external"`
	MatchedSpeakerDisplayName Opt[string] `json:"matched_speaker_display_name,omitzero"`
}

// Recorder is the person who recorded a meeting.
type Recorder struct {
	Name        string      `json:"name"`
	Email       string      `json:"email"`
	EmailDomain string      `json:"email_domain"`
	Team        Opt[string] `json:"team,omitzero"`
}

// TranscriptEntry is one utterance. Timestamp is an offset into the recording,
// read with ParseOffset.
type TranscriptEntry struct {
	Speaker   Speaker `json:"speaker"`
	Text      string  `json:"text"`
	Timestamp string  `json:"timestamp"`
}

// Speaker is the person to whom an utterance is attributed.
type Speaker struct {
	DisplayName                 string      `json:"display_name"`
	MatchedCalendarInviteeEmail Opt[string] `json:"matched_calendar_invitee_email,omitzero"`
}

// Summary is the one summary of a recording, in Markdown.
type Summary struct {
	TemplateName      Opt[string] `json:"template_name,omitzero"`
	MarkdownFormatted Opt[string] `json:"markdown_formatted,omitzero"`
}

// ActionItem is a task agreed on in a meeting. RecordingTimestamp is an offset, read
// with [ParseOffset].
type ActionItem struct {
	Description          string        `json:"description"`
	UserGenerated        bool          `json:"user_generated"`
	Completed            bool          `json:"completed"`
	RecordingTimestamp   string        `json:"recording_timestamp"`
	RecordingPlaybackURL string        `json:"recording_playback_url"`
	Assignee             Opt[Assignee] `json:"assignee,omitzero"`
}

// IsBlank reports whether an action item says nothing.
func (i ActionItem) IsBlank() bool { return isBlank(i.Description) }

// Assignee is the person to whom an action item is assigned. Any of its fields may
// be null.
type Assignee struct {
	Name  Opt[string] `json:"name,omitzero"`
	Email Opt[string] `json:"email,omitzero"`
	Team  Opt[string] `json:"team,omitzero"`
}

// Highlight is a marked range of a recording. StartTime and EndTime are seconds from
// its start and may be fractional. Type is free text.
type Highlight struct {
	Type      string      `json:"type"`
	Summary   Opt[string] `json:"summary,omitzero"`
	StartTime float64     `json:"start_time"`
	EndTime   float64     `json:"end_time"`
	Text      Opt[string] `json:"text,omitzero"` // only when it differs from Summary
}

// IsBlank reports whether a highlight says and marks nothing.
func (h Highlight) IsBlank() bool {
	return isBlank(h.Type) && isBlank(h.Summary.Or("")) && isBlank(h.Text.Or("")) && h.StartTime == 0 && h.EndTime == 0
}

// CRMMatches are the records of a connected CRM that belong to a meeting. Error is
// the reason when there are none, such as a missing connection.
type CRMMatches struct {
	Contacts  Opt[[]CRMContact] `json:"contacts,omitzero"`
	Companies Opt[[]CRMCompany] `json:"companies,omitzero"`
	Deals     Opt[[]CRMDeal]    `json:"deals,omitzero"`
	Error     Opt[string]       `json:"error,omitzero"`
}

// CRMContact is a person in the CRM.
type CRMContact struct {
	Name      Opt[string] `json:"name,omitzero"`
	Email     Opt[string] `json:"email,omitzero"`
	RecordURL Opt[string] `json:"record_url,omitzero"`
}

// CRMCompany is a company in the CRM.
type CRMCompany struct {
	Name      Opt[string] `json:"name,omitzero"`
	RecordURL Opt[string] `json:"record_url,omitzero"`
}

// CRMDeal is a deal in the CRM; Amount has no unit in the specification.
type CRMDeal struct {
	Name      Opt[string]  `json:"name,omitzero"`
	Amount    Opt[float64] `json:"amount,omitzero"`
	RecordURL Opt[string]  `json:"record_url,omitzero"`
}
