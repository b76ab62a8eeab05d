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
