package strict

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"minutebook/api"
)

// TestAnswersAreUTF8 serves parts with bytes that are no UTF-8, which the archive keeps as
// they came: JSON is UTF-8, and a strict client would not read any meeting of the page.
func TestAnswersAreUTF8(t *testing.T) {
	parts := map[api.Part]json.RawMessage{
		api.PartMeeting:     json.RawMessage("{\"title\":\"a\xffb\",\"more\xfe\":1,\"calendar_invitees\":[{\"name\":\"\xc3\",\"matched_speaker_display_name\":\"x\"}],\"recorded_by\":{\"name\":\"\xe2\x82\",\"email\":\"\",\"email_domain\":\"\"}}"),
		api.PartTranscript:  json.RawMessage("[{\"speaker\":{\"display_name\":\"\xff\"},\"text\":\"a\xc0\xafb\",\"timestamp\":\"00:00:01\"}]"),
		api.PartSummary:     json.RawMessage("{\"template_name\":\"\xff\",\"markdown_formatted\":\"\xff\"}"),
		api.PartActionItems: json.RawMessage("[{\"description\":\"\xff\"}]"),
		api.PartHighlights:  json.RawMessage("[{\"type\":\"\xff\",\"start_time\":1,\"end_time\":2}]"),
		api.PartCRM:         json.RawMessage("{\"error\":\"\xff\"}"),
	}
	c := New()
	for range 2 { // the second time from the cache
		out, err := c.AppendMeeting(nil, 7, parts, contents())
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(out) || !json.Valid(out) {
			t.Errorf("served: %q", out)
		}
		for part, raw := range parts {
			if got := c.Part(part, raw); !utf8.Valid(got) || !json.Valid(got) {
				t.Errorf("%s: %q", part, got)
			}
		}
	}
}
