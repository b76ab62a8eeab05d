package service

import (
	"encoding/json"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// matched is a meeting whose invitees were matched to speakers.
func matched(id int, transcript string) string {
	return meeting(id, "calendar_invitees", `[{"name": "Ann <b>", "email": "ann@acme.example", "email_domain": "acme.example", "is_external": false,
		"matched_speaker_display_name": "Ann", "later": {"kept": 1}}]`, "transcript", transcript,
		"highlights", `[{"type": "A", "start_time": 1.5, "end_time": 2, "summary": "same", "text": "same"},
			{"type": "B", "start_time": 1, "end_time": 2, "summary": "one", "text": "other"}, {"type": "C", "start_time": 1, "end_time": 2, "text": null}]`)
}

// A light answer lacks the members that the service sends only with transcripts, in the
// sandbox and over an archive: it is absent in some meetings and null in others.
func TestLightAnswersLackWhatComesWithTranscripts(t *testing.T) {
	testrun.SkipUnderRace(t)
	const transcript = `[{"speaker": {"display_name": "Ann"}, "text": "Hello", "timestamp": "00:00:01"}]`
	lines := []string{matched(1, transcript), matched(2, transcript), matched(3, `null`)}
	loaded := newSandbox(t, Options{}, lines...)
	overlay, a := newOverlay(t)
	for _, line := range lines {
		arrive(t, a, archive.SourceList, line)
	}
	for name, s := range map[string]struct {
		*sandbox
		key string
	}{"sandbox": {loaded, loaded.admin}, "archive": {overlay, overlay.key("ann@acme.example")}} {
		for query, want := range map[string]string{
			"": "", "include_summary=true": "", "include_transcript=true": "1 2 ",
		} {
			var page struct{ Items []map[string]json.RawMessage }
			body := s.get("/meetings?"+query, s.key, 200)
			body.decode(t, &page)
			shown, absent, null := "", 0, 0
			for _, item := range page.Items {
				var invitees []map[string]json.RawMessage
				if err := json.Unmarshal(item["calendar_invitees"], &invitees); err != nil {
					t.Fatal(err)
				}
				switch value, ok := invitees[0]["matched_speaker_display_name"]; {
				case !ok:
					absent++
				case string(value) == "null":
					null++
				default:
					shown = string(item["recording_id"]) + " " + shown
				}
				if string(invitees[0]["later"]) == "" || !strings.Contains(string(invitees[0]["name"]), "Ann") {
					t.Errorf("%s: invitees are %s", name, item["calendar_invitees"])
				}
			}
			if shown != want || want == "" && (absent == 0 || null == 0) {
				t.Errorf("%s, %q: speakers in %q, want %q; absent in %d, null in %d", name, query, shown, want, absent, null)
			}
		}
		var page struct {
			Items []struct{ Highlights []map[string]json.RawMessage }
		}
		s.get("/meetings?include_highlights=true", s.key, 200).decode(t, &page)
		h := page.Items[0].Highlights
		if len(h) != 3 || h[0]["text"] != nil || string(h[1]["text"]) != `"other"` || h[2]["text"] != nil {
			t.Errorf("%s: highlights %s", name, h)
		}
	}
}

// Parts that are not asked for are absent in some meetings and null in others.
func TestPartsThatAreOffAreAbsentOrNull(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1), meeting(2))
	var page struct{ Items []map[string]json.RawMessage }
	s.get("/meetings", s.admin, 200).decode(t, &page)
	for _, part := range includeParts {
		first, inOne := page.Items[0][string(part.part)]
		other, inOther := page.Items[1][string(part.part)]
		if inOne == inOther || inOne && string(first) != "null" || inOther && string(other) != "null" {
			t.Errorf("%s: %q and %q, want one absent and one null", part.part, first, other)
		}
	}
}
