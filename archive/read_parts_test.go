package archive

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"minutebook/api"
)

func TestPartsOfManyAreThePartsOfEach(t *testing.T) {
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "One", "a")), observe(t, SourceList, epoch0, meetingJSON(2, "Two", "b")),
		observe(t, SourceList, epoch0.Add(time.Hour), []byte(`{"recording_id": 2, "title": "Two again"}`)),
		observe(t, SourceTranscript, epoch0, []byte(`{"recording_id": 3, "highlights": null}`)))
	many, err := a.PartsOfMany(t.Context(), []int64{1, 2, 3, 99}, api.Parts())
	if err != nil {
		t.Fatal(err)
	}
	if len(many) != 3 {
		t.Errorf("%d meetings, want 3", len(many))
	}
	for id, got := range many {
		want, err := a.PartsOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range api.Parts() {
			if !bytes.Equal(got[p], want[p]) {
				t.Errorf("part %s of %d is %s, want %s", p, id, got[p], want[p])
			}
		}
	}
	few, err := a.PartsOfMany(t.Context(), []int64{1}, []api.Part{api.PartMeeting, api.PartSummary})
	if err != nil || len(few[1]) != 2 || few[1][api.PartTranscript] != nil {
		t.Errorf("asked for two parts, got %d: %v", len(few[1]), err)
	}
}

func TestSaidIsTheTextOfTheEntries(t *testing.T) {
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, []byte(`{"recording_id": 1, "transcript": [
		{"speaker": {"display_name": "A"}, "text": "One.", "timestamp": "00:00:09"}, {"speaker": {"display_name": "B"}, "text": "", "timestamp": "00:00:03"},
		{"speaker": {"display_name": "A"}, "text": "two\u0000 \ud800", "timestamp": "00:00:03"}, {"speaker": {"display_name": "C"}, "text": "東京", "timestamp": "00:00:10"}]}`)),
		observe(t, SourceList, epoch0, []byte(`{"recording_id": 2}`)))
	for _, id := range []int64{1, 2, 99} {
		for from := range 6 {
			for to := -1; to < 6; to++ {
				entries, err := a.Entries(t.Context(), id, from-1, to)
				if err != nil {
					t.Fatal(err)
				}
				texts := make([]string, len(entries))
				for i, e := range entries {
					texts[i] = e.Text
				}
				said, n, err := a.Said(t.Context(), id, from-1, to)
				if err != nil || said != strings.Join(texts, " ") || n != len(entries) {
					t.Errorf("%d, from %d to %d: %q, %d entries, %v, want %q", id, from-1, to, said, n, err, texts)
				}
			}
		}
	}
}
