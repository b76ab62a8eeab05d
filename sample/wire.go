package sample

// meeting is the service's Meeting (section 2.2). It is only written, never read. A
// pointer is a field that may be null. Every key is always present, as in the
// service's answers.
type meeting struct {
	Title          string       `json:"title"`
	MeetingTitle   *string      `json:"meeting_title"`
	MeetingType    string       `json:"meeting_type"`
	RecordingID    int64        `json:"recording_id"`
	URL            string       `json:"url"`
	ShareURL       string       `json:"share_url"`
	MeetingURL     *string      `json:"meeting_url"`
	CreatedAt      string       `json:"created_at"`
	ScheduledStart string       `json:"scheduled_start_time"`
	ScheduledEnd   string       `json:"scheduled_end_time"`
	RecordingStart string       `json:"recording_start_time"`
	RecordingEnd   string       `json:"recording_end_time"`
	DomainsType    string       `json:"calendar_invitees_domains_type"`
	SharedWith     string       `json:"shared_with"`
	Language       string       `json:"transcript_language"`
	Invitees       []invitee    `json:"calendar_invitees"`
	RecordedBy     recorder     `json:"recorded_by"`
	Transcript     []entry      `json:"transcript"`
	Summary        summary      `json:"default_summary"`
	ActionItems    []actionItem `json:"action_items"`
	Highlights     []mark       `json:"highlights"`
	CRM            *crmMatches  `json:"crm_matches"`
}

type invitee struct {
	Name    string  `json:"name"`
	Email   string  `json:"email"`
	Domain  string  `json:"email_domain"`
	Outside bool    `json:"is_external"`
	Matched *string `json:"matched_speaker_display_name"`
}

type recorder struct {
	Name   string  `json:"name"`
	Email  string  `json:"email"`
	Domain string  `json:"email_domain"`
	Team   *string `json:"team"`
}

type entry struct {
	Speaker   speaker `json:"speaker"`
	Text      string  `json:"text"`
	Timestamp string  `json:"timestamp"`
}

type speaker struct {
	Name  string  `json:"display_name"`
	Email *string `json:"matched_calendar_invitee_email"`
}

type summary struct {
	Template string `json:"template_name"`
	Markdown string `json:"markdown_formatted"`
}

type actionItem struct {
	Description   string    `json:"description"`
	UserGenerated bool      `json:"user_generated"`
	Completed     bool      `json:"completed"`
	Timestamp     string    `json:"recording_timestamp"`
	PlaybackURL   string    `json:"recording_playback_url"`
	Assignee      *assignee `json:"assignee"`
}

type assignee struct {
	Name  string  `json:"name"`
	Email *string `json:"email"`
	Team  *string `json:"team"`
}

type mark struct {
	Type    string  `json:"type"`
	Summary string  `json:"summary"`
	Start   float64 `json:"start_time"`
	End     float64 `json:"end_time"`
	Text    string  `json:"text"`
}

type crmMatches struct {
	Contacts  []crmContact `json:"contacts,omitempty"`
	Companies []crmCompany `json:"companies,omitempty"`
	Deals     []crmDeal    `json:"deals,omitempty"`
	Error     string       `json:"error,omitempty"`
}

type crmContact struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	URL   string `json:"record_url"`
}

type crmCompany struct {
	Name string `json:"name"`
	URL  string `json:"record_url"`
}

type crmDeal struct {
	Name   string  `json:"name"`
	Amount float64 `json:"amount"`
	URL    string  `json:"record_url"`
}
