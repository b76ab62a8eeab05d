package archive

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive/media"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// TestMain sets how many times the random tests draw where the command line does
// not: each run draws anew, and the long run ten times as often.
func TestMain(m *testing.M) {
	checks := "30"
	if testrun.IsLong() {
		checks = "300"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	testrun.Main(m)
}

// newArchive opens a fresh archive whose clock stands at epoch0.
func newArchive(t *testing.T) *Archive {
	t.Helper()
	return openArchive(t, t.TempDir())
}

var epoch0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openArchive(t *testing.T, dir string) *Archive {
	t.Helper()
	a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.Nop(), Now: func() time.Time { return epoch0 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// meetingJSON is a small whole meeting.
func meetingJSON(id int64, title, text string) []byte {
	return fmt.Appendf(nil, `{"title": %q, "recording_id": %d, "recording_start_time": "2026-02-01T10:00:00Z",
		"created_at": "2026-02-01T11:00:05Z", "calendar_invitees": [{"name": "Ann", "email": "ann@example.com", "is_external": false}],
		"recorded_by": {"name": "Bob", "email": "bob@example.com", "email_domain": "example.com", "team": "Sales"},
		"transcript": [{"speaker": {"display_name": "Ann", "matched_calendar_invitee_email": "ann@example.com"}, "text": %q, "timestamp": "00:00:01"},
			{"speaker": {"display_name": "Bob"}, "text": "Yes, \u00fc.", "timestamp": "00:01:02", "unknown": 1.50}],
		"default_summary": {"template_name": "General", "markdown_formatted": "# %s"},
		"action_items": [{"description": "Call", "recording_timestamp": "00:00:30", "assignee": null}],
		"highlights": null, "crm_matches": {"contacts": [{"name": "Cy"}]}, "later_key": {"a": [1, 2]}}`, title, id, text, title)
}

func observe(t *testing.T, src Source, at time.Time, raw []byte) Observation {
	t.Helper()
	o, err := FromMeeting("main", src, at, raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func apply(t *testing.T, a *Archive, batch ...Observation) Applied {
	t.Helper()
	applied, err := a.Apply(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func TestOpenRefusesNowhereAndSecondOwner(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Options{Dir: filepath.Join(dir, "typo")})
	if !errors.Is(err, ErrNoArchive) {
		t.Fatalf("open of a missing directory: %v; want ErrNoArchive", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "typo")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a refused open made the directory")
	}
	a := openArchive(t, dir)
	_, err = Open(t.Context(), Options{Dir: dir})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("second open: %v; want ErrInUse naming process %d", err, os.Getpid())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Head(t.Context()); !errors.Is(err, ErrClosed) {
		t.Fatalf("head after close: %v; want ErrClosed", err)
	}
	openArchive(t, dir)
}

func TestOpenMakesPrivateFilesUnderAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd ?#% name")
	a := openArchive(t, dir)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "hello")))
	for _, name := range []string{"archive.db", "archive.db-wal", "lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v; want 0600", name, info.Mode().Perm())
		}
	}
	for _, name := range []string{".", "media", "media/partial"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want 0700", name, info.Mode(), err)
		}
	}
}

func TestApplyKeepsEveryByteAndDerivesRows(t *testing.T) {
	a := newArchive(t)
	raw := meetingJSON(7, "Kick-off", "Good morning all")
	got := apply(t, a, observe(t, SourceList, epoch0, raw))
	if got.New != 1 || got.Revisions != 5 || len(got.Changed) != 1 || got.Position.Seq != 5 {
		t.Fatalf("applied %+v; want 1 new, 5 revisions and changes", got)
	}
	_, want, err := api.SplitMeeting(raw)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := a.PartsOf(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	for p, w := range want {
		if string(parts[p]) != string(w) {
			t.Errorf("part %s is\n%s\nwant\n%s", p, parts[p], w)
		}
	}
	whole, err := a.MeetingJSON(t.Context(), 7)
	if err != nil || !rawjson.Equal(whole, raw) {
		t.Errorf("meeting is\n%s, %v\nwant\n%s", whole, err, raw)
	}
	row, err := a.Row(t.Context(), 7)
	if err != nil || row.Title != "Kick-off" || row.Entries != 2 || row.Words != 5 || !row.HasSummary || row.HasHighlights ||
		row.RecordedBy.Team.Or("") != "Sales" || !row.Start.Equal(time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("row %+v, %v", row, err)
	}
	entries, err := a.Entries(t.Context(), 7, 1, -1)
	if err != nil || len(entries) != 1 || entries[0] != (Entry{1, 62 * time.Second, "Bob", "", "Yes, ü."}) {
		t.Errorf("entries %+v, %v", entries, err)
	}
	again := apply(t, a, observe(t, SourceList, epoch0.Add(time.Hour), raw))
	if again.New+again.Revisions+len(again.Changed) != 0 {
		t.Errorf("applied again: %+v; want nothing", again)
	}
}

func TestApplyIsOneTransaction(t *testing.T) {
	a := newArchive(t)
	good := observe(t, SourceList, epoch0, meetingJSON(1, "T", "x"))
	bad := Observation{Account: "main", Source: SourceList, At: epoch0, RecordingID: 2,
		Parts: map[api.Part]json.RawMessage{api.PartTranscript: json.RawMessage(`[`)}}
	if _, err := a.Apply(t.Context(), []Observation{good, bad}, Mark{"cursor", []byte("p2")}); err == nil {
		t.Fatal("a part that is not JSON was applied")
	}
	if _, err := a.Row(t.Context(), 1); !errors.Is(err, ErrNotFound) {
		t.Fatalf("row of the good one: %v; want ErrNotFound", err)
	}
	if m, err := a.Mark(t.Context(), "cursor"); m != nil || err != nil {
		t.Fatalf("mark %q, %v; want none", m, err)
	}
	if _, err := a.Apply(t.Context(), []Observation{good}, Mark{"cursor", []byte("p2")}); err != nil {
		t.Fatal(err)
	}
	if m, err := a.Mark(t.Context(), "cursor"); string(m) != "p2" || err != nil {
		t.Fatalf("mark %q, %v; want p2", m, err)
	}
}

func TestChangesFollowAndRefuseForeignPositions(t *testing.T) {
	a := newArchive(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	woken := make(chan error, 1)
	go func() { woken <- a.WaitChange(ctx, Position{}) }()
	head := apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "T", "x"))).Position
	if err := <-woken; err != nil {
		t.Fatal(err)
	}
	changes, err := a.Changes(ctx, Position{}, 100)
	if err != nil || int64(len(changes)) != head.Seq || changes[0].Kind != ChangePart || changes[0].Part != api.PartMeeting {
		t.Fatalf("changes %+v, %v; want %d", changes, err, head.Seq)
	}
	if rest, err := a.Changes(ctx, head, 100); err != nil || len(rest) != 0 {
		t.Fatalf("after the head: %v, %v; want none", rest, err)
	}
	for _, p := range []Position{{"other", 1}, {head.Epoch, head.Seq + 1}, {"", 1}} {
		if _, err := a.Changes(ctx, p, 1); !errors.Is(err, ErrForeignEpoch) {
			t.Errorf("changes after %+v: %v; want ErrForeignEpoch", p, err)
		}
	}
}

// withMedia attaches a recording to a meeting.
func withMedia(t *testing.T, a *Archive, id int64, content string) media.Blob {
	t.Helper()
	b, err := a.Media().Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AttachMedia(t.Context(), id, MediaVideo, b); err != nil {
		t.Fatal(err)
	}
	return b
}
