package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMeetingSurvivesWhatTheServiceSends(t *testing.T) {
	const odd = `{"recording_id":"12","title":null,"url":5,"created_at":"2025-10-15T19:31:26.5+02:00",
		"scheduled_start_time":null,"recorded_by":[],"calendar_invitees":[{"name":null,"is_external":"yes"},null,7],
		"meeting_url":null,"transcript":[{"speaker":null,"text":"hello","timestamp":"00:00:01"}],
		"default_summary":"text","action_items":null,"highlights":[],"new_key":{"a": 1}}`
	var m Meeting
	if err := json.Unmarshal([]byte(odd), &m); err != nil {
		t.Fatal(err)
	}
	if m.RecordingID != 12 || m.CreatedAt.String() != "2025-10-15T17:31:26Z" || !m.ScheduledStartTime.IsZero() {
		t.Errorf("read %d, %v, %v", m.RecordingID, m.CreatedAt, m.ScheduledStartTime)
	}
	if len(m.CalendarInvitees) != 3 || !m.CalendarInvitees[0].Name.Null() || !m.CalendarInvitees[1].Name.Absent() {
		t.Errorf("invitees %+v", m.CalendarInvitees)
	}
	if e, ok := m.Transcript.Get(); !ok || len(e) != 1 || e[0].Text != "hello" {
		t.Errorf("transcript %+v", e)
	}
	if !m.MeetingURL.Null() || !m.MeetingTitle.Absent() || !m.DefaultSummary.Absent() || !m.ActionItems.Null() {
		t.Error("absent and null were confused")
	}
	if h, ok := m.Highlights.Get(); !ok || len(h) != 0 {
		t.Error("an empty list was not kept apart from none")
	}
	if string(m.Extra["new_key"]) != `{"a": 1}` || len(m.Extra) != 1 {
		t.Errorf("extra %s", m.Extra)
	}
}

func TestMeetingWritesWhatItRead(t *testing.T) {
	var m, again Meeting
	complete := `{"recording_id":1,"title":"T","meeting_title":null,"created_at":"2025-10-15T17:31:26Z","crm_matches":{"deals":[{"amount":1.5}]},"z":1,"a":[]}`
	if err := json.Unmarshal([]byte(complete), &m); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	again.CalendarInvitees = nil
	if d := cmp.Diff(m, again); d != "" {
		t.Error(d)
	}
	for _, notObject := range []string{`[]`, `"x"`, `3`} {
		if err := json.Unmarshal([]byte(notObject), &m); err == nil {
			t.Errorf("%s was read as a meeting", notObject)
		}
	}
}
