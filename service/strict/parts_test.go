package strict

import (
	"encoding/json"
	"testing"

	"minutebook/api"
)

// Elements that say nothing are left out of a list, and a list of nothing else is null.
func TestElementsThatSayNothingAreLeftOut(t *testing.T) {
	for part, full := range map[api.Part]string{
		api.PartTranscript:  `{"speaker":{"display_name":"Ann","matched_calendar_invitee_email":null},"text":"Hello","timestamp":"00:00:01"}`,
		api.PartActionItems: `{"description":"Call","user_generated":false,"completed":false,"recording_timestamp":"00:00:01","recording_playback_url":"https://x.example/","assignee":null}`,
		api.PartHighlights:  `{"type":"Objection","summary":"Price","start_time":1,"end_time":2}`,
	} {
		for raw, want := range map[string]string{
			`[]`: `[]`, `[null]`: `null`, `[{}, null]`: `null`, `[` + full + `]`: `[` + full + `]`,
			`[` + full + `, null]`: `[` + full + `]`, `[null,` + full + `,{}]`: `[` + full + `]`,
		} {
			if got := New().Part(part, json.RawMessage(raw)); string(got) != want {
				t.Errorf("%s %s: %s, want %s", part, raw, got, want)
			}
		}
	}
	for part, blank := range map[api.Part]string{
		api.PartActionItems: `[{"description":" ","user_generated":false,"completed":false,"recording_timestamp":"00:00:01","recording_playback_url":""}]`,
		api.PartHighlights:  `[{"type":"","start_time":0,"end_time":0}]`,
	} {
		if got := New().Part(part, json.RawMessage(blank)); string(got) != "null" {
			t.Errorf("%s %s: %s, want null", part, blank, got)
		}
	}
}
