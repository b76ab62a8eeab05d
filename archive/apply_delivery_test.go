package archive

import (
	"errors"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive/inbox"
)

func TestFromDelivery(t *testing.T) {
	received := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	created := time.Date(2026, 2, 28, 8, 0, 0, 0, time.UTC)
	meeting := `{"recording_id":42,"title":"Weekly","created_at":"2026-02-28T08:00:00Z","transcript":[{"text":"Hello"}],"new_key":1}`
	cases := []struct {
		name, kind, body string
		ok               bool
		at               time.Time
		part             api.Part // one that is there, "" for none
	}{
		{"a meeting", inbox.KindWebhook, meeting, true, created, api.PartTranscript},
		{"a meeting without created_at", "", `{"recording_id":42,"title":"Weekly"}`, true, received, api.PartMeeting},
		{"created_at of another type", "", `{"recording_id":42,"created_at":7}`, true, received, api.PartMeeting},
		{"not JSON", inbox.KindWebhook, `{"recording_id":42`, false, received, ""},
		{"two documents", inbox.KindWebhook, meeting + meeting, false, received, ""},
		{"empty", inbox.KindWebhook, ``, false, received, ""},
		{"an array", inbox.KindWebhook, `[{"recording_id":42}]`, false, received, ""},
		{"no recording_id", inbox.KindWebhook, `{"event":"ping"}`, false, received, ""},
		{"recording_id zero", inbox.KindWebhook, `{"recording_id":0}`, false, received, ""},
		{"a transcript", inbox.KindTranscript, `{"transcript":[{"text":"Hello"}]}`, true, received, api.PartTranscript},
		{"a transcript with its id", inbox.KindTranscript, `{"recording_id":42,"transcript":[]}`, true, received, api.PartTranscript},
		{"a bare transcript", inbox.KindTranscript, ` [{"text":"Hello"}]`, true, received, api.PartTranscript},
		{"a bare string", inbox.KindTranscript, `"Hello"`, false, received, ""},
		{"a transcript of another", inbox.KindTranscript, `{"recording_id":43,"transcript":[]}`, false, received, ""},
		{"a transcript of another shape", inbox.KindTranscript, `{"transcript":"Hello"}`, false, received, ""},
		{"a summary", inbox.KindSummary, `{"summary":{"markdown_formatted":"# Hello"}}`, true, received, api.PartSummary},
		{"a bare summary", inbox.KindSummary, `{"template_name":"General","markdown_formatted":"# Hello"}`, true, received, api.PartSummary},
		{"a bare array for a summary", inbox.KindSummary, `["Hello"]`, false, received, ""},
		{"a null summary", inbox.KindSummary, `{"summary":null}`, true, received, api.PartSummary},
		{"a summary at a transcript's address", inbox.KindTranscript, `{"summary":{"markdown_formatted":"# Hello"}}`, false, received, ""},
		{"a download", inbox.KindDownload, `{"download_id":"d","recording_id":42,"status":"completed"}`, true, received, ""},
		{"not a download", inbox.KindDownload, `{"status":"completed"}`, false, received, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := inbox.Delivery{Account: "a", Kind: c.kind, ReceivedAt: received, Body: []byte(c.body)}
			if c.kind != inbox.KindWebhook && c.kind != "" {
				d.RecordingID = 42
			}
			o, err := FromDelivery(d)
			if (err == nil) != c.ok {
				t.Fatalf("error %v, want one: %v", err, !c.ok)
			}
			if !c.ok {
				return
			}
			if o.RecordingID != 42 || o.Account != "a" || !o.At.Equal(c.at) {
				t.Errorf("observation of %d by %q at %v", o.RecordingID, o.Account, o.At)
			}
			if _, present := o.Parts[c.part]; c.part != "" && !present {
				t.Errorf("part %s is missing", c.part)
			}
		})
	}
}

// FuzzFromDelivery reads any bytes as a delivery: reading always returns, and each
// accepted observation names a recording.
func FuzzFromDelivery(f *testing.F) {
	for _, kind := range []string{inbox.KindWebhook, inbox.KindTranscript, inbox.KindSummary, inbox.KindDownload} {
		f.Add(kind, []byte(`{"recording_id":42,"transcript":[{"text":"Hello"}],"summary":{"markdown_formatted":"x"},"download_id":"d"}`))
		f.Add(kind, []byte(`{"recording_id":42,"recording_id":43,"created_at":null}`))
		f.Add(kind, []byte(`[]`))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		o, err := FromDelivery(inbox.Delivery{Account: "a", Kind: kind, RecordingID: 42, Body: body})
		if err == nil && o.RecordingID <= 0 {
			t.Errorf("accepted without a recording: %q", body)
		}
	})
}

// A panic over the content of one observation is an error of that observation.
func TestAPanicOverContentEndsNothing(t *testing.T) {
	a := newArchive(t)
	ob := summaryRead(SourceSummary, epoch0, 1, strings.Repeat("long ", 50))
	codec := a.codec
	a.codec = nil
	_, err := a.Apply(t.Context(), []Observation{ob})
	var bad *ObservationError
	if !errors.As(err, &bad) || bad.RecordingID != ob.RecordingID {
		t.Errorf("with a broken codec: %v", err)
	}
	a.codec = codec
	apply(t, a, ob)
}
