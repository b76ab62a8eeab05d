package archive

import (
	"testing"
	"time"

	"minutebook/api"
)

func TestObserve(t *testing.T) {
	received := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	created := time.Date(2026, 2, 28, 8, 0, 0, 0, time.UTC)
	meeting := `{"recording_id":42,"title":"Weekly","created_at":"2026-02-28T08:00:00Z","transcript":[{"text":"Hello"}],"new_key":1}`
	cases := []struct {
		name, kind, body string
		ok               bool
		at               time.Time
		part             api.Part // one that is there, "" for none
	}{
		{"a meeting", KindWebhook, meeting, true, created, api.PartTranscript},
		{"a meeting without created_at", "", `{"recording_id":42,"title":"Weekly"}`, true, received, api.PartMeeting},
		{"created_at of another type", "", `{"recording_id":42,"created_at":7}`, true, received, api.PartMeeting},
		{"not JSON", KindWebhook, `{"recording_id":42`, false, received, ""},
		{"two documents", KindWebhook, meeting + meeting, false, received, ""},
		{"empty", KindWebhook, ``, false, received, ""},
		{"an array", KindWebhook, `[{"recording_id":42}]`, false, received, ""},
		{"no recording_id", KindWebhook, `{"event":"ping"}`, false, received, ""},
		{"recording_id zero", KindWebhook, `{"recording_id":0}`, false, received, ""},
		{"a transcript", KindTranscript, `{"transcript":[{"text":"Hello"}]}`, true, received, api.PartTranscript},
		{"a transcript with its id", KindTranscript, `{"recording_id":42,"transcript":[]}`, true, received, api.PartTranscript},
		{"a bare transcript", KindTranscript, ` [{"text":"Hello"}]`, true, received, api.PartTranscript},
		{"a bare string", KindTranscript, `"Hello"`, false, received, ""},
		{"a transcript of another", KindTranscript, `{"recording_id":43,"transcript":[]}`, false, received, ""},
		{"a transcript of another shape", KindTranscript, `{"transcript":"Hello"}`, false, received, ""},
		{"a summary", KindSummary, `{"summary":{"markdown_formatted":"# Hello"}}`, true, received, api.PartSummary},
		{"a bare summary", KindSummary, `{"template_name":"General","markdown_formatted":"# Hello"}`, true, received, api.PartSummary},
		{"a bare array for a summary", KindSummary, `["Hello"]`, false, received, ""},
		{"a null summary", KindSummary, `{"summary":null}`, true, received, api.PartSummary},
		{"a summary at a transcript's address", KindTranscript, `{"summary":{"markdown_formatted":"# Hello"}}`, false, received, ""},
		{"a download", KindDownload, `{"download_id":"d","recording_id":42,"status":"completed"}`, true, received, ""},
		{"not a download", KindDownload, `{"status":"completed"}`, false, received, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Delivery{Account: "a", Kind: c.kind, ReceivedAt: received, Body: []byte(c.body)}
			if c.kind != KindWebhook && c.kind != "" {
				d.RecordingID = 42
			}
			o, err := Observe(d)
			if (err == nil) != c.ok {
				t.Fatalf("error %v, want one: %v", err, !c.ok)
			}
			if !c.ok {
				return
			}
			if o.RecordingID != 42 || o.Account != "a" || !o.At.Equal(c.at) {
				t.Errorf("observation of %d by %q at %v", o.RecordingID, o.Account, o.At)
			}
			if _, there := o.Parts[c.part]; c.part != "" && !there {
				t.Errorf("part %s is missing", c.part)
			}
		})
	}
}

// FuzzObserve: whatever a sender signs, reading it returns, and what it accepts
// names a recording.
func FuzzObserve(f *testing.F) {
	for _, kind := range []string{KindWebhook, KindTranscript, KindSummary, KindDownload} {
		f.Add(kind, []byte(`{"recording_id":42,"transcript":[{"text":"Hello"}],"summary":{"markdown_formatted":"x"},"download_id":"d"}`))
		f.Add(kind, []byte(`{"recording_id":42,"recording_id":43,"created_at":null}`))
		f.Add(kind, []byte(`[]`))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		o, err := Observe(Delivery{Account: "a", Kind: kind, RecordingID: 42, Body: body})
		if err == nil && o.RecordingID <= 0 {
			t.Errorf("accepted without a recording: %q", body)
		}
	})
}
