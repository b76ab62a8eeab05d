package search

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestManySegmentsHideNoForm looks for a word of which another form comes behind 3,000 words
// that begin like it, in each of eight segments.
func TestManySegmentsHideNoForm(t *testing.T) {
	testrun.SkipUnderRace(t)
	var words strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&words, "ox%c%c%cb ", 'a'+i/400, 'a'+i/20%20, 'a'+i%20)
	}
	h := newFixture(t)
	for id := range int64(8) {
		said := words.String()
		if id == 7 {
			said += "oxing"
		}
		h.add(meeting(id+1, "Herd", "en", testNow.Add(-time.Duration(id)*time.Hour), []utterance{{0, "Anna Lee", said}}, nil))
		h.catchUp()
	}
	if got := h.search(Request{Query: "ox", Viewer: everyone}); got.Total != 1 {
		t.Errorf("%d meetings have a form of the word, want 1", got.Total)
	}
}
