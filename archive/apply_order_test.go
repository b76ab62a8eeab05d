package archive

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
)

// summaryRead is a read of a summary.
func summaryRead(src Source, at time.Time, order int64, text string) Observation {
	raw, _ := json.Marshal(map[string]string{"markdown_formatted": text})
	return Observation{Account: "a", Source: src, At: at, Order: order, RecordingID: 1, Parts: map[api.Part]json.RawMessage{api.PartSummary: raw}}
}

// TestAClockOnceInTheFutureFreezesNoContent sets the clock ahead and back: content of a
// later read replaces content of an earlier one, across a restart too, and answers that
// overtake one another count by their sending.
func TestAClockOnceInTheFutureFreezesNoContent(t *testing.T) {
	dir := t.TempDir()
	var now time.Time
	open := func() *Archive {
		a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.Nop(), Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	future := time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC)
	now = future
	a := open()
	show := func(src Source, order int64, text, want string) {
		t.Helper()
		apply(t, a, summaryRead(src, now, order, text))
		for range 2 { // as it is, and rebuilt
			m, err := a.Meeting(t.Context(), Viewer{All: true}, 1)
			if err != nil || m.DefaultSummary.Or(api.Summary{}).MarkdownFormatted != api.Some(want) {
				t.Errorf("after %q the summary is %+v, %v; want %q", text, m.DefaultSummary, err, want)
			}
			if err := a.Rebuild(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	// before there were numbers: by its date
	show(SourceSummary, 0, "of an older archive", "of an older archive")
	show(SourceSummary, a.NextOrder(), "in 2035", "in 2035")
	now = epoch0
	show(SourceSummary, a.NextOrder(), "in 2026", "in 2026")
	earlier, later := a.NextOrder(), a.NextOrder()
	show(SourceSummary, later, "sent later", "sent later")
	show(SourceSummary, earlier, "sent earlier", "sent later")
	a.Close()
	a = open()
	now = epoch0.Add(-10 * time.Minute) // and back again
	show(SourceSummary, a.NextOrder(), "after a restart", "after a restart")
	show(SourceCallback, 0, "called back", "called back")
	show(SourceSummary, a.NextOrder(), "after the callback", "after the callback")
	show(SourceCallback, 0, "called back", "after the callback") // the same delivery again
	now = future.Add(time.Hour)
	show(SourceSummary, a.NextOrder(), "in 2035 at last", "in 2035 at last")
	revisions, err := a.Revisions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range revisions {
		if raw := string(mustRevision(t, a, r.ID)); raw == `{"markdown_formatted":"in 2026"}` && !r.Last.Equal(epoch0) {
			t.Errorf("%s is dated %v; want what the clock said", raw, r.Last)
		}
	}
	if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
		t.Error(damages)
	}
}

func mustRevision(t *testing.T, a *Archive, id int64) json.RawMessage {
	t.Helper()
	_, raw, err := a.RevisionJSON(t.Context(), 1, id)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
