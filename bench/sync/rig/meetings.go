package rig

import (
	"bytes"
	"fmt"
	"time"
)

// Person is whose meetings Meetings makes.
const Person = "ada@example.com"

// Meetings makes n meetings as NDJSON, the newest created at end and each an
// equal step before the next, all recorded by Person, with content.
func Meetings(n int, end time.Time, step time.Duration) []byte {
	var b bytes.Buffer
	for i := range n {
		b.Write(Meeting(int64(i+1), end.Add(-time.Duration(n-1-i)*step)))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Meeting is one meeting of half an hour that was created at a time.
func Meeting(id int64, created time.Time) []byte {
	at := func(d time.Duration) string { return created.Add(d).UTC().Format("2006-01-02T15:04:05Z") }
	return fmt.Appendf(nil, `{"title":"Meeting %[1]d","meeting_title":"Meeting %[1]d","meeting_type":"Weekly",`+
		`"recording_id":%[1]d,"url":"https://service.test/calls/%[1]d","share_url":"https://service.test/share/%[1]d",`+
		`"created_at":"%[2]s","scheduled_start_time":"%[3]s","scheduled_end_time":"%[2]s",`+
		`"recording_start_time":"%[3]s","recording_end_time":"%[2]s",`+
		`"calendar_invitees_domains_type":"only_internal","shared_with":"no_teams","transcript_language":"en",`+
		`"meeting_url":null,"calendar_invitees":[],"recorded_by":{"name":"Ada","email":%[4]q,"email_domain":"example.com","team":"Research"},`+
		`"transcript":[{"speaker":{"display_name":"Ada","matched_calendar_invitee_email":null},"text":"This is meeting %[1]d.","timestamp":"00:00:01"},`+
		`{"speaker":{"display_name":"Bob","matched_calendar_invitee_email":null},"text":"So it is, number %[1]d.","timestamp":"00:00:05"}],`+
		`"default_summary":{"template_name":"General","markdown_formatted":"About %[1]d."},"action_items":[],"highlights":[],"crm_matches":null}`,
		id, at(0), at(-30*time.Minute), Person)
}
