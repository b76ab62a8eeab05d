package export

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
)

// The formats json and ndjson share the file of notes.
func TestFormatsShareTheFileOfNotes(t *testing.T) {
	earlier := func(l *ledger) error { // as an earlier version knew the file, for each format
		f, err := l.findFile("file:"+notes.FileName, NDJSON)
		if err != nil || f == nil {
			return err
		}
		f.Format = JSON
		return l.record(f)
	}
	for name, between := range map[string]func(*ledger) error{"one row": nil, "two rows": earlier} {
		a, dir := archivetest.WithMeetings(t, 2), t.TempDir()
		d, err := notes.Open(t.Context(), notes.Options{Archive: a})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Dir: dir, Format: JSON, Notes: d}
		remark := func(id int64, text string) {
			t.Helper()
			if _, err := d.Add(t.Context(), notes.Note{RecordingID: id, Text: text, Person: notes.Owner}); err != nil {
				t.Fatal(err)
			}
		}
		remark(1, "stays")
		exportTo(t, a, o)
		if between != nil {
			l, err := openLedger(t.Context(), dir)
			if err == nil {
				err = errors.Join(between(l), l.close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		remark(2, "secret")
		o.Format = NDJSON
		exportTo(t, a, o)
		if raw, err := os.ReadFile(filepath.Join(dir, notes.FileName)); err != nil || !bytes.Contains(raw, []byte("secret")) {
			t.Fatalf("%s: %s, %v", name, raw, err)
		}
		if _, err := a.Forget(t.Context(), 2, "asked for"); err != nil {
			t.Fatal(err)
		}
		o.Format = JSON
		exportTo(t, a, o)
		for path, content := range archivetest.Tree(t, dir) {
			if strings.Contains(content, "secret") {
				t.Errorf("%s: %s holds the note about the forgotten meeting", name, path)
			}
		}
		if raw, err := os.ReadFile(filepath.Join(dir, notes.FileName)); err != nil || !bytes.Contains(raw, []byte("stays")) {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
	}
}

// TestAMeetingThatFailedAndWasForgottenIsOnNoList forgets a meeting that an export put on the
// lists, and whose file it did not write.
func TestAMeetingThatFailedAndWasForgottenIsOnNoList(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "one", "a"), archivetest.Meeting(2, "Xylophonist", "a"))
	x, err := newRun(t.Context(), a, Options{Dir: dir, Format: Markdown})
	if err != nil {
		t.Fatal(err)
	}
	row, err := a.Row(t.Context(), 2)
	var m *Meeting
	if err == nil {
		m, _, err = x.read(t.Context(), row)
	}
	if err == nil {
		err = x.enter(m)
	}
	if err = errors.Join(err, x.ledger.close()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Forget(t.Context(), 2, "asked for"); err != nil {
		t.Fatal(err)
	}
	exportTo(t, a, Options{Dir: dir, Format: JSON})
	for name, content := range archivetest.Tree(t, dir) {
		if strings.Contains(content, "Xylophonist") {
			t.Errorf("%s has the title of the forgotten meeting", name)
		}
	}
}

// TestMeetingsWithoutADateStandByThemselves lists a meeting of March and one without a date.
func TestMeetingsWithoutADateStandByThemselves(t *testing.T) {
	var b strings.Builder
	err := markdownIndex(&b, List{Count: 2, Meetings: slices.Values([]ListEntry{{File: "a.md", Title: "A", Start: archivetest.Epoch}, {File: "b.md", Title: "B"}})})
	if want := "# Meetings\n\n## March 2026\n\n- 2026-03-01 [A](a.md)\n\n## Undated\n\n- undated [B](b.md)\n"; err != nil || b.String() != want {
		t.Errorf("%s, %v", &b, err)
	}
}
