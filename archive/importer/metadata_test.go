package importer

import (
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestAnActionItemWithoutATimeHasNone imports two action items, of which one says when it was
// agreed: 0:00 is a time as well.
func TestAnActionItemWithoutATimeHasNone(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": "[[action_items]]\ntext = \"First\"\nat = \"0:00\"\n[[action_items]]\ntext = \"Some time\"\n"})
	importPath(t, a, dir)
	items, err := a.ActionItems(t.Context(), archive.ActionQuery{Viewer: archive.Viewer{All: true}})
	if err != nil || len(items) != 2 {
		t.Fatalf("%+v, %v", items, err)
	}
	for _, item := range items {
		if want := map[string]time.Duration{"First": 0, "Some time": -1}[item.Description]; item.Offset != want {
			t.Errorf("%s at %v, want %v", item.Description, item.Offset, want)
		}
	}
}

// TestAnEndWithoutAStart imports a talk of nine seconds of which the end alone is known, also
// after an import that had guessed the start by the date of the file.
func TestAnEndWithoutAStart(t *testing.T) {
	for name, before := range map[string]string{"at once": "end = 2020-01-01T10:00:00Z", "later": "title = \"Talk\""} {
		a, dir := ticking(t), t.TempDir()
		for _, meta := range []string{before, "end = 2020-01-01T10:00:00Z"} {
			writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT, "talk.toml": meta})
			importPath(t, a, dir)
		}
		row := allRows(t, a)[0]
		if want := time.Date(2020, 1, 1, 9, 59, 51, 0, time.UTC); !row.Start.Equal(want) || row.End.Sub(row.Start) != 9*time.Second {
			t.Errorf("%s: from %v to %v", name, row.Start, row.End)
		}
	}
}
