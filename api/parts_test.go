package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"minutebook/internal/rawjson"
)

func TestSplitKeepsBytesAndJoinPutsThemBack(t *testing.T) {
	raw := ` {"title" : "A\u00e9 \/", "recording_id": 42 , "transcript": [ {"text": "x"} ],
	  "default_summary":null, "nested": {"transcript": 1}, "highlights":[]}`
	id, parts, err := SplitMeeting([]byte(raw))
	if err != nil || id != 42 {
		t.Fatalf("got %d, %v", id, err)
	}
	want := map[Part]string{
		PartMeeting:    `{"title":"A\u00e9 \/","recording_id":42,"nested":{"transcript": 1}}`,
		PartTranscript: `[ {"text": "x"} ]`,
		PartSummary:    `null`,
		PartHighlights: `[]`,
	}
	if len(parts) != len(want) {
		t.Errorf("%d parts, want %d", len(parts), len(want))
	}
	for p, w := range want {
		if string(parts[p]) != w {
			t.Errorf("%s is %s, want %s", p, parts[p], w)
		}
	}
	joined, err := JoinMeeting(parts)
	if err != nil || !rawjson.Equal(joined, []byte(raw)) {
		t.Errorf("joined %s, %v", joined, err)
	}
}

func TestSplitRefusesWhatIsNoMeeting(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `{}`, `{"recording_id":null}`, `{"recording_id":0}`, `{"recording_id":-4}`, `{"recording_id":1`} {
		if _, _, err := SplitMeeting([]byte(raw)); err == nil {
			t.Errorf("%q was split", raw)
		}
	}
	if id, _, err := SplitMeeting([]byte(`{"recording_id":"77"}`)); err != nil || id != 77 {
		t.Errorf("an identifier in quotes: %d, %v", id, err)
	}
	if _, err := JoinMeeting(map[Part]json.RawMessage{PartTranscript: []byte("[")}); err == nil {
		t.Error("a broken part was joined")
	}
}

func TestHashTellsWhatDiffers(t *testing.T) {
	same := []string{`{"a":[1,"é"],"b":null}`, "{ \"b\":null,\n\"a\":[1,\"\\u00e9\"]}", `{"b":1,"a":[1,"é"],"b":null}`}
	for _, s := range same[1:] {
		if !rawjson.Equal([]byte(s), []byte(same[0])) {
			t.Errorf("%s hashes unlike %s", s, same[0])
		}
	}
	different := []string{`{"a":1}`, `{"a":1.0}`, `{"a":"1"}`, `{"a":[1]}`, `{"a":{}}`, `[]`, `{}`, `null`, `"null"`, `nul`, `"a\u0001"`, `"a\\u0001"`}
	seen := map[[32]byte]string{}
	for _, s := range different {
		h, _ := rawjson.Hash([]byte(s))
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s hash alike", s, other)
		}
		seen[h] = s
	}
}

func TestEmpty(t *testing.T) {
	empties := []string{"", "null", `""`, `" "`, "[]", "{}", "[ ]", `{"summary":null}`, `{"transcript":[]}`, `[null]`,
		`{"contacts":[],"error":"no CRM connected"}`, `{"error":"no CRM connected"}`}
	for _, s := range empties {
		if !Empty(json.RawMessage(s)) {
			t.Errorf("%s is said to have content", s)
		}
	}
	contents := []string{`0`, `false`, `"x"`, `[{"speaker":null,"text":"hi"}]`, `{"template_name":null,"markdown_formatted":"# A"}`,
		`{"contacts":[{"name":"A"}],"error":"some failed"}`, `{"summary":{"markdown_formatted":"x"}}`, `{oops`, `[{"type":"Objection"}]`}
	for _, s := range contents {
		if Empty(json.RawMessage(s)) {
			t.Errorf("%s is said to be empty", s)
		}
	}
}

func TestEachPartHasContentOfItsOwn(t *testing.T) {
	for part, empties := range map[Part][]string{
		PartSummary: {`{"template_name":"General"}`, `{"template_name":"x","markdown_formatted":null}`, `{"template_name":"x","markdown_formatted":5}`,
			`{"summary":{"template_name":"General","markdown_formatted":""}}`},
		PartTranscript: {`[{"speaker":{"display_name":"A"},"text":"","timestamp":"00:00:01"}]`, `[{"speaker":{"display_name":"A"},"text":["x"]}]`},
		PartHighlights: {`[{"error":"none"}]`},
		PartCRM:        {`{"contacts":[],"error":"no CRM connected"}`, `{"contacts":[{}],"error":"no CRM connected"}`},
		PartMeeting:    {`{}`, `[]`},
	} {
		for _, s := range empties {
			if _, isEmpty, ok := JudgePart(part, []byte(s)); HasContent(part, []byte(s)) || !isEmpty || !ok {
				t.Errorf("%s: %s is said to have content", part, s)
			}
		}
	}
}

// TestAnUnknownKeyMakesNothingEmpty reads content with keys that the specification names for other
// parts, or not at all: an added key says nothing about the rest.
func TestAnUnknownKeyMakesNothingEmpty(t *testing.T) {
	const added = `"speaker":{"display_name":"Ada"},"markdown_formatted":null,"template_name":"General","error":"x"`
	for part, s := range map[Part]string{
		PartMeeting:     `{"recording_id":1,"title":"Weekly","shared_with":"no_teams",%s}`,
		PartTranscript:  `[{"text":"Hi",%s}]`,
		PartSummary:     `{%s,"markdown_formatted":"# A"}`,
		PartActionItems: `[{"description":"Send the offer","completed":true,%s}]`,
		PartHighlights:  `[{"type":"Objection","summary":"Too dear","start_time":5,"end_time":9,%s}]`,
		PartCRM:         `{"deals":[{"name":"A",%[1]s}],%[1]s}`,
	} {
		s = fmt.Sprintf(s, added)
		if _, isEmpty, ok := JudgePart(part, []byte(s)); isEmpty || !ok || !HasContent(part, []byte(s)) {
			t.Errorf("%s: %s counts as empty", part, s)
		}
	}
}

func TestSplitDoesNotAliasItsInput(t *testing.T) {
	raw := []byte(`{"recording_id":1,"transcript":[1]}`)
	_, parts, err := SplitMeeting(raw)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw, bytes.Repeat([]byte("x"), len(raw)))
	if string(parts[PartTranscript]) != "[1]" {
		t.Errorf("part changed to %s", parts[PartTranscript])
	}
}
