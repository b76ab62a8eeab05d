package archive

import (
	"bytes"
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
