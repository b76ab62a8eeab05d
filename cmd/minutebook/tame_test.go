package main

import (
	"encoding/json"
	"strings"
	"testing"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/control"
	"minutebook/search"
)

// TestTerminalsObeyNobodysWords prints meetings whose texts have the characters that terminals
// obey: whoever is invited to a meeting chooses a name.
func TestTerminalsObeyNobodysWords(t *testing.T) {
	const evil = "E\x1b[2J\x1b]0;x\x07\u009b5mvil\r\n\u202efdp"
	raw, err := json.Marshal(map[string]any{"recording_id": 1, "title": evil, "default_summary": map[string]any{"markdown_formatted": "one\r\x1btwo\n\n  three"},
		"action_items": []any{map[string]any{"description": evil}}, "transcript": []any{map[string]any{"speaker": map[string]any{"display_name": evil}, "text": evil, "timestamp": evil},
			map[string]any{"text": "nobody", "timestamp": "00:00:01"}}})
	if err != nil {
		t.Fatal(err)
	}
	var meeting api.Meeting
	if err := json.Unmarshal(raw, &meeting); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := printMeeting(&b, &meeting); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n\n  three\n") || !strings.HasSuffix(b.String(), "\n00:00:01  nobody\n") {
		t.Errorf("%q", b.String())
	}
	found := search.FoundMeeting{Title: evil, Why: evil, Moments: []search.FoundMoment{{Speaker: evil, Text: evil, Part: "transcript"},
		{Speaker: evil, Snippet: []search.FoundSpan{{Text: "a " + evil + " "}, {Text: evil, Hit: true}, {Text: " z"}}, Part: "transcript"}}}
	if err := printSearch(&b, search.Result{Total: 1, DidYouMean: evil, Meetings: []search.FoundMeeting{found}}, false, ""); err != nil {
		t.Fatal(err)
	}
	if err := printHistory(&b, control.HistoryResult{Differences: []merge.Difference{{Path: "title", New: json.RawMessage(evil)}}}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.ContainsAny(text, "\x1b\x07\u009b\r\u202e") || !strings.Contains(text, "a E[2J]0;x5mvil fdp E[2J]0;x5mvil fdp z") {
		t.Errorf("%q", text)
	}
}
