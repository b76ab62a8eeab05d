package archive

import (
	"encoding/json"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/corpus"
	"minutebook/internal/testrun"
)

// TestCorpusComesBackByteForByte applies real meetings and reads them back.
func TestCorpusComesBackByteForByte(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, name := range corpus.Files() {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			meetings := testrun.RealMeetings(t, name)
			for i := 0; i < len(meetings); i += 10 {
				var batch []Observation
				for _, raw := range meetings[i:min(i+10, len(meetings))] {
					batch = append(batch, observe(t, SourceList, epoch0, raw))
				}
				apply(t, a, batch...)
			}
			counts, err := a.Counts(t.Context())
			if err != nil || counts.Meetings != len(meetings) {
				t.Fatalf("counts %+v, %v; want %d meetings", counts, err, len(meetings))
			}
			for _, raw := range meetings {
				checkMeeting(t, a, raw)
			}
		})
	}
}

func checkMeeting(t *testing.T, a *Archive, raw []byte) {
	t.Helper()
	id, want, err := api.SplitMeeting(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.PartsOf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range api.Parts() {
		if string(got[p]) != string(want[p]) {
			t.Fatalf("meeting %d: part %s is not what arrived", id, p)
		}
	}
	var spoken []api.TranscriptEntry
	if err := json.Unmarshal(want[api.PartTranscript], &spoken); err != nil {
		t.Fatal(err)
	}
	entries, err := a.Entries(t.Context(), id, 0, -1)
	if err != nil || len(entries) != len(spoken) {
		t.Fatalf("meeting %d: %d entries, %v; want %d", id, len(entries), err, len(spoken))
	}
	for i, e := range entries {
		at, _ := api.ParseOffset(spoken[i].Timestamp)
		if e.Text != spoken[i].Text || e.Speaker != spoken[i].Speaker.DisplayName || e.Offset != at.Truncate(time.Millisecond) {
			t.Fatalf("meeting %d: entry %d is %+v; want %+v", id, i, e, spoken[i])
		}
	}
}
