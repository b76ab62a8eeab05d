package export

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestBlankNamesLeaveNoMarks renders a meeting whose speaker, highlight's type and assignee are
// blank: nothing stands for them, and the highlight's text and the assignee's address are there.
func TestBlankNamesLeaveNoMarks(t *testing.T) {
	var notes api.Meeting
	if err := json.Unmarshal([]byte(`{"default_summary": {"markdown_formatted": " "}, "highlights": [{"type": "", "summary": "", "text": "said"}],
		"action_items": [{"description": "call", "assignee": {"name": "", "email": "bob@x.example"}}, {"description": "write", "assignee": {"name": " ", "email": " "}}]}`), &notes); err != nil {
		t.Fatal(err)
	}
	m := &Meeting{Row: &archive.Row{Title: "Odd"}, Notes: &notes, Entries: []archive.Entry{{Text: "Hello"}}}
	for _, format := range []struct {
		write func(io.Writer, *Meeting) error
		want  string
	}{
		{WriteMarkdown, "# Odd\n\n## Action items\n\n- [ ] call (bob@x.example)\n- [ ] write\n\n## Highlights\n\n- `00:00:00`: said\n\n## Transcript\n\n`00:00:00` Hello\n"},
		{WriteText, "Odd\n\nACTION ITEMS\n\n[ ] call (bob@x.example)\n[ ] write\n\nTRANSCRIPT\n\n[00:00:00] Hello\n"},
	} {
		var b strings.Builder
		if err := format.write(&b, m); err != nil || !strings.HasSuffix(b.String(), format.want) {
			t.Errorf("%s, %v; want %s", b.String(), err, format.want)
		}
	}
}

// TestHighlightsAtNoTime begin with the recording, as on the page.
func TestHighlightsAtNoTime(t *testing.T) {
	var notes api.Meeting
	if err := json.Unmarshal([]byte(`{"highlights": [{"type": "", "text": "far", "start_time": 1.7e9}, {"type": "", "text": "before", "start_time": -1e300}]}`), &notes); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err := WriteMarkdown(&b, &Meeting{Row: &archive.Row{Title: "Odd"}, Notes: &notes})
	if want := "\n- `00:00:00`: far\n- `00:00:00`: before\n"; err != nil || !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s, %v; want %s", b.String(), err, want)
	}
}

// TestActionItemsWithoutATime has no time for one that the service gives none, instead of the
// beginning of the recording.
func TestActionItemsWithoutATime(t *testing.T) {
	a, place := archivetest.New(t), filepath.Join(t.TempDir(), "tables")
	archivetest.Apply(t, a, archivetest.Epoch, []byte(`{"recording_id": 1, "action_items": [{"description": "begin", "recording_timestamp": "00:00:00"}, {"description": "some time"}]}`))
	tables(t, a, place)
	rows := readTable[ActionItemRow](t, place, "action_items", noMonth)
	if len(rows) != 2 || rows[0].Offset == nil || *rows[0].Offset != 0 || rows[1].Offset != nil {
		t.Errorf("%+v", rows)
	}
}
