package strict

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"minutebook/api"
	"minutebook/internal/rawjson"
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

// FuzzParts: whatever is archived, a meeting is served as valid JSON with every required
// key once, and its parts are strict and stay as they are the second time.
func FuzzParts(f *testing.F) {
	f.Add([]byte(`{"recording_id":1,"title":null,"created_at":"2025-10-15 17:31","calendar_invitees":[{"is_external":null,"name":"a","matched_speaker_display_name":"b"}],"recorded_by":{"email":"a@b.example"}}`),
		[]byte(`[{"description":"a","recording_timestamp":"1:2:3","assignee":{"name":7}},null]`))
	f.Add([]byte(`{"title":"a","title":"b","Title":"c","recorded_by":[]}`), []byte(`[{"type":"x","start_time":1,"end_time":2,"text":"","summary":"s"}]`))
	f.Add([]byte("{\"ti\xfftle\":1}"), []byte(`{"contacts":[{}],"companies":{},"error":null}`))
	f.Add([]byte(`{}`), []byte(`{"template_name":null,"markdown_formatted":"# a"}`))
	f.Add([]byte(`[]`), []byte(`[{"speaker":{},"text":"a","timestamp":"x"}]`))
	isStrict := map[api.Part]func(json.RawMessage) bool{api.PartTranscript: isTranscript, api.PartSummary: isSummary, api.PartActionItems: isActionItems, api.PartHighlights: isHighlights, api.PartCRM: isCRM}
	c := New()
	f.Fuzz(func(t *testing.T, meeting, content []byte) {
		if !json.Valid(meeting) || !json.Valid(content) {
			return // the archive keeps valid JSON
		}
		parts := map[api.Part]json.RawMessage{api.PartMeeting: meeting}
		for part, strict := range isStrict {
			parts[part] = content
			served := c.Part(part, content)
			if !utf8.Valid(served) || !json.Valid(served) || string(served) != "null" && !strict(served) {
				t.Errorf("%s %q is served as %q, which is not strict", part, content, served)
			}
			if again := c.Part(part, served); string(again) != string(served) {
				t.Errorf("%s %q is served as %q, and that as %q", part, content, served, again)
			}
		}
		for _, include := range [][]api.Part{nil, contents()} {
			out, err := c.AppendMeeting(nil, 7, parts, include)
			if err != nil {
				if bytes.HasPrefix(bytes.TrimSpace(meeting), []byte("{")) {
					t.Errorf("%q: %v", meeting, err)
				}
				return
			}
			members, err := rawjson.Members(out)
			if err != nil || !utf8.Valid(out) {
				t.Fatalf("%q is served as %q: %v", meeting, out, err)
			}
			times := map[string]int{}
			for _, m := range members {
				times[m.Key]++
			}
			for _, r := range required() {
				if times[r.key] != 1 {
					t.Errorf("%q: %s is served %d times in %s", meeting, r.key, times[r.key], out)
				}
			}
			for _, part := range include {
				if times[string(part)] != 1 {
					t.Errorf("%q: %s is served %d times in %s", meeting, part, times[string(part)], out)
				}
			}
		}
	})
}
