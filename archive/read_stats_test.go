package archive

import (
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
)

func TestStats(t *testing.T) {
	a := filledArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, []byte(`{"recording_id": 6, "recording_start_time": "2025-12-31T23:30:00Z",
		"recording_end_time": "2026-01-01T01:00:00Z", "recorded_by": {"email": "BOB@example.com"}}`)))
	s, err := a.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Meetings != 6 || s.Gone != 4 || s.WithTranscript != 5 || s.WithRecording != 1 || s.People != 2 || s.Hours != 1.5 ||
		s.Sizes.Database == 0 || s.Sizes.Inbox == 0 || s.Sizes.Recordings != 22 || !s.First.Equal(time.Date(2025, 12, 31, 23, 30, 0, 0, time.UTC)) {
		t.Errorf("stats %+v", s)
	}
	want := []MonthStats{{"2025-12", 1, 1.5, 0}, {"2026-02", 5, 0, s.Words}}
	if diff := cmp.Diff(want, s.Months); diff != "" {
		t.Error(diff)
	}
	if size, err := a.MediaSize(t.Context()); err != nil || size != s.Sizes.Recordings {
		t.Errorf("%d bytes of recordings, %v", size, err)
	}
	withMedia(t, a, 6, "another recording")
	if size, err := a.MediaSize(t.Context()); err != nil || size != s.Sizes.Recordings+17 {
		t.Errorf("%d bytes with another recording, %v", size, err)
	}
	empty, err := newArchive(t).Stats(t.Context())
	if err != nil || empty.Meetings != 0 || !empty.First.IsZero() {
		t.Errorf("of an empty archive: %+v, %v", empty, err)
	}
}

func TestFailuresAreALedger(t *testing.T) {
	a := newArchive(t)
	ctx := t.Context()
	f := Failure{Account: "main", Class: "download", What: "7", RecordingID: 7, Reason: "503", Last: epoch0}
	for i := range 3 {
		f.Last, f.NextTry = epoch0.Add(time.Duration(i)*time.Minute), epoch0.Add(time.Hour)
		if err := a.RecordFailure(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	open, err := a.Failures(ctx, true)
	if err != nil || len(open) != 1 || open[0].Tries != 3 || !open[0].First.Equal(epoch0) || !open[0].Last.Equal(epoch0.Add(2*time.Minute)) {
		t.Fatalf("open %+v, %v", open, err)
	}
	if err := a.ResolveFailure(ctx, "main", "download", "7"); err != nil {
		t.Fatal(err)
	}
	if open, err = a.Failures(ctx, true); err != nil || len(open) != 0 {
		t.Fatalf("open after it was resolved: %+v, %v", open, err)
	}
	f.Last = epoch0.Add(time.Hour)
	if err := a.RecordFailure(ctx, f); err != nil {
		t.Fatal(err)
	}
	all, err := a.Failures(ctx, false)
	if err != nil || len(all) != 1 || all[0].Tries != 1 || !all[0].Resolved.IsZero() || !all[0].First.Equal(f.Last) {
		t.Fatalf("reopened %+v, %v", all, err)
	}
	apply(t, a, shownAt(1, `"title":"T"`))
	if _, err := a.Forget(ctx, 1, "asked for"); err != nil {
		t.Fatal(err)
	}
	if err := a.RecordFailure(ctx, Failure{Account: "main", Class: "content", What: "1", RecordingID: 1, Reason: "503"}); err != nil {
		t.Fatal(err)
	}
	if open, err = a.Failures(ctx, true); err != nil || len(open) != 1 || open[0].RecordingID != 7 {
		t.Errorf("a failure is noted of a forgotten meeting: %+v, %v", open, err)
	}
}

// The archive stores the budgets and tokens of package api.
var (
	_ api.BudgetStore = (*Archive)(nil)
	_ api.TokenStore  = (*Archive)(nil)
)

func TestMarksSurviveAndAreFoundByPrefix(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	ctx := t.Context()
	if err := a.SaveToken(ctx, "main", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if err := a.SetMarks(ctx, Mark{"sync/a", []byte("1")}, Mark{"sync/b", []byte{}}, Mark{"syncs", []byte("3")}, Mark{"sync/c", []byte("4")}, Mark{"sync/c", nil}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a = openArchive(t, dir)
	if token, err := a.LoadToken(ctx, "main"); err != nil || string(token) != "secret" {
		t.Fatalf("token %q, %v", token, err)
	}
	if token, err := a.LoadToken(ctx, "other"); err != nil || token != nil {
		t.Fatalf("token of another account %q, %v", token, err)
	}
	marks, err := a.Marks(ctx, "sync/")
	if diff := cmp.Diff(map[string][]byte{"sync/a": []byte("1"), "sync/b": {}}, marks); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
}

func TestSideDatabases(t *testing.T) {
	a := newArchive(t)
	migrations := fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x TEXT);")}}
	if _, err := a.SideDB(t.Context(), "service.db", migrations, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"service.db", "archive.db", "../x.db", "x"} {
		if _, err := a.SideDB(t.Context(), name, migrations, nil); err == nil {
			t.Errorf("side database %q was opened", name)
		}
	}
	a.Close()
	if _, err := a.SideDB(t.Context(), "other.db", migrations, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v; want ErrClosed", err)
	}
}
