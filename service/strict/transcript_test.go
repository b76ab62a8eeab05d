package strict

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzTranscripts: a transcript that is strict by its tokens is strict when it is
// decoded, too, and one that is written the usual way is strict by its tokens.
func FuzzTranscripts(f *testing.F) {
	const entry = `{"speaker":{"display_name":"A","matched_calendar_invitee_email":null},"text":"née \"x\" \u00e9","timestamp":"00:00:01"}`
	for _, seed := range []string{"[]", " [ ] ", "[" + entry + "]", "[" + entry + ", " + entry + "\n]", `[{"text":"a"}]`, "[" + entry + ",]", entry, "null", `[{}]`,
		`[{"speaker":{"display_name":null},"text":"a","timestamp":"00:00:01"}]`, `[{"speaker":{"display_name":"a"},"text":"a","timestamp":"1:02"}]`,
		"[" + entry[:20], `[{"speaker":{"display_name":"a\q"},"text":"a","timestamp":"00:00:01"}]`, `[{"speaker":{"display_name":"a"},"text":"a","text":null,"timestamp":"00:00:01"}]`,
		`[{"speaker":{"display_name":"a"},"text":"a","timestamp":"00:00:\u0030"}]`, "[" + entry + "] x", `[{"speaker":{"display_name":"a","more":[{}]},"text":"a","timestamp":"00:00:01","more":1}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quick, decoded := isTranscript(raw), isDecodedTranscript(raw)
		if quick && !decoded {
			t.Errorf("%q is strict by its tokens, and not decoded", raw)
		}
		if usual := bytes.HasPrefix(raw, []byte("["+entry)) && decoded; usual && bytes.Count(raw, []byte(entry))*(len(entry)+1)+1 == len(raw) && !quick {
			t.Errorf("%q is not strict by its tokens", raw)
		}
	})
}

// isDecodedTranscript is isTranscript by decoding all of it.
func isDecodedTranscript(raw json.RawMessage) bool {
	var entries []struct {
		Speaker *struct {
			DisplayName *string `json:"display_name"`
			Email       *string `json:"matched_calendar_invitee_email"`
		} `json:"speaker"`
		Text      *string `json:"text"`
		Timestamp *string `json:"timestamp"`
	}
	if json.Unmarshal(raw, &entries) != nil {
		return false
	}
	for _, e := range entries {
		if e.Speaker == nil || e.Speaker.DisplayName == nil || e.Text == nil ||
			e.Timestamp == nil || !isOffset(*e.Timestamp) {
			return false
		}
	}
	return true
}

// A key that only differs in case is another key to a strict client.
func TestKeysAreComparedAsWritten(t *testing.T) {
	if isTranscript([]byte(`[{"Speaker":{"display_name":"a"},"text":"a","timestamp":"00:00:01"}]`)) {
		t.Error("Speaker was taken for speaker")
	}
}
