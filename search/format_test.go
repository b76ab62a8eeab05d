package search

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// makeOld gives the index of a closed house the oldest format that is served.
func makeOld(t *testing.T, h *fixture) (dir string) {
	t.Helper()
	created := filepath.Join(h.dir, "index", generationName{format, 1}.String())
	for _, part := range []string{meetingsFolder, momentsFolder} {
		s, err := openStore(filepath.Join(created, part), format, meetingsFloor)
		if err != nil {
			t.Fatal(err)
		}
		st := s.lastState()
		st.Format = oldestServed
		if err := s.write(context.Background(), s.index.NewBatch(), st); err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(h.dir, "index", generationName{oldestServed, 1}.String())
	if err := os.Rename(created, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOldFormatServes checks that an index of an older format answers, and is
// not written to, until its successor is whole, and then is gone.
func TestOldFormatServes(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	h.close()
	old := makeOld(t, h)
	h.open()
	for query, want := range map[string]string{"": "3 2 1", "budget": "1", `"were cut"`: "1", `"cut were"`: "", `"about that on"`: "1", "vertrag": "3"} {
		a := h.search(Request{Query: query})
		if got := hitIDs(a); got != want || !a.Exact || !a.Progress.Rebuilding || a.Progress.Indexed != 3 {
			t.Errorf("%q finds %q (%+v), want %q", query, got, a.Progress, want)
		}
	}
	anna := archive.ViewerWith("anna@own.example")
	if a := h.search(Request{Query: "budget", Viewer: anna}); a.Total != 0 {
		t.Errorf("what a person may see is taken from the old index: %d", a.Total)
	}
	c, err := h.index.readChunk(context.Background(), h.index.next, h.index.next.buildState())
	if err == nil {
		err = h.index.writeChunk(context.Background(), h.index.next, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := h.index.serving.number; n != 1 {
		t.Errorf("generation %d answers before its time", n)
	}
	h.catchUp()
	checkAnswers(h)
	if n := h.index.serving; n.number != 2 || n.format != format {
		t.Errorf("%v answers", n.generationName)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old index is still there: %v", err)
	}
}
