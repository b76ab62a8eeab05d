package archive

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/testrun"
)

func summaryAt(src Source, hour int, markdown string) Observation {
	raw, _ := json.Marshal(map[string]string{"markdown_formatted": markdown})
	return Observation{Account: "main", Source: src, At: epoch0.Add(time.Duration(hour) * time.Hour), RecordingID: 1,
		Parts: map[api.Part]json.RawMessage{api.PartSummary: raw}}
}

func TestHistoryAndReadingAtATime(t *testing.T) {
	a := newArchive(t)
	apply(t, a, summaryAt(SourceWebhook, 1, "A"), summaryAt(SourceList, 3, "B"), summaryAt(SourceList, 5, "B"),
		summaryAt(SourceSummary, 7, "C"), summaryAt(SourceList, 9, "B"))
	revisions, err := a.Revisions(t.Context(), 1)
	if err != nil || len(revisions) != 3 {
		t.Fatalf("revisions %+v, %v; want 3", revisions, err)
	}
	b := revisions[1]
	if !b.Current || revisions[0].Current || !b.First.Equal(epoch0.Add(3*time.Hour)) || !b.Last.Equal(epoch0.Add(9*time.Hour)) ||
		len(b.Seen) != 1 || b.Seen[0].Source != SourceList {
		t.Errorf("second revision %+v", b)
	}
	part, raw, err := a.RevisionJSON(t.Context(), 1, b.ID)
	if err != nil || part != api.PartSummary || string(raw) != `{"markdown_formatted":"B"}` {
		t.Errorf("revision %s %s, %v", part, raw, err)
	}
	for hour, want := range map[int]string{1: "A", 2: "A", 3: "B", 6: "B", 7: "C", 8: "C", 9: "B", 99: "B"} {
		parts, err := a.PartsAt(t.Context(), 1, epoch0.Add(time.Duration(hour)*time.Hour))
		if err != nil || !strings.Contains(string(parts[api.PartSummary]), want) {
			t.Errorf("at hour %d: %s, %v; want %s", hour, parts[api.PartSummary], err, want)
		}
	}
	if _, err := a.PartsAt(t.Context(), 1, epoch0); !errors.Is(err, ErrNotFound) {
		t.Errorf("before anything was shown: %v; want ErrNotFound", err)
	}
	if _, err := a.Revisions(t.Context(), 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("history of an unknown meeting: %v; want ErrNotFound", err)
	}
}

func TestReadingAtTheEndIsReadingNow(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := drawArchive(t)
	rapid.Check(t, func(rt *rapid.T) {
		clearArchive(rt, a)
		batch := rapid.SliceOfN(rapid.Custom(drawObservation), 1, 8).Draw(rt, "batch")
		if _, err := a.Apply(t.Context(), batch); err != nil {
			rt.Fatal(err)
		}
		id := batch[0].RecordingID
		now, err := a.PartsOf(t.Context(), id)
		if errors.Is(err, ErrNotFound) {
			return // nothing was drawn that shows it
		}
		if err != nil {
			rt.Fatal(err)
		}
		for p, raw := range now { // a part that was only ever null has no version
			if string(raw) == "null" {
				delete(now, p)
			}
		}
		if len(now) == 0 {
			return
		}
		later, err := a.PartsAt(t.Context(), id, epoch0.Add(1000*time.Hour))
		if diff := cmp.Diff(now, later); err != nil || diff != "" {
			rt.Fatalf("%v\n%s", err, diff)
		}
	})
}
