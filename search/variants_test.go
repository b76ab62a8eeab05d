package search

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
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

// manyWords are more words that begin with ox than are looked at in one segment, all before oxzz.
func manyWords() string {
	var words strings.Builder
	for i := range maxScanned + 100 {
		fmt.Fprintf(&words, "ox%c%c%c%c ", 'a'+i/2000%20, 'a'+i/100%20, 'a'+i/10%10, 'a'+i%10)
	}
	return words.String()
}

// TestUnderAMinusNoWordOfABeginningIsLeft has a word behind all that are looked at.
func TestUnderAMinusNoWordOfABeginningIsLeft(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	crm := map[string]any{"crm_matches": map[string]any{"contacts": []any{map[string]any{"name": "Oxzz Client", "email": "zoe@client.example"}}}}
	h.add(meeting(1, "Herd", "en", day(1), []utterance{{0, "Anna Lee", manyWords()}}, nil),
		meeting(2, "Late", "en", day(2), []utterance{{0, "Anna Lee", "An oxzz."}, {90, "Bob Stone", "Yes, he may."}}, nil),
		meeting(3, "Oxzz", "en", day(3), []utterance{{0, "Anna Lee", "None."}}, nil),
		meeting(4, "CRM", "en", day(4), []utterance{{0, "Anna Lee", "None."}}, crm),
		meeting(5, "None", "en", day(5), []utterance{{0, "Anna Lee", "None."}, {5, "Bob Stone", "One."}}, nil))
	h.catchUp()
	for query, want := range map[string]string{"-ox*": "5 (exact true)", "in:transcript -ox*": "5 4 3 (exact true)", "None -ox*": "5 (exact true)", "in:title -ox*": "5 4 2 1 (exact true)",
		"speaker:anna -ox*": "5 4 3 (exact true)", "speaker:bob -ox*": "5 2 (exact true)", "speaker:bob -h*": "5 (exact false)", "-(-oxz*)": "4 3 2 (exact true)",
		"ox*": "4 3 1 (exact false)", "-oxz*": "5 1 (exact true)"} {
		a := h.search(Request{Query: query + " sort:date"})
		if got := fmt.Sprintf("%s (exact %v)", hitIDs(a), a.Exact); got != want {
			t.Errorf("%s finds %s, want %s", query, got, want)
		}
	}
}

// TestManyHiddenWordsHideNoForm has more words with a beginning in a hidden meeting than are
// looked at, all before the visible one.
func TestManyHiddenWordsHideNoForm(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	hilda := map[string]any{"recorded_by": map[string]any{"name": "Hilda", "email": "hilda@hidden.example", "email_domain": "hidden.example"}}
	h.add(meeting(1, "Hidden", "en", day(1), []utterance{{0, "Hilda", manyWords()}}, hilda), meeting(2, "Late", "en", day(2), []utterance{{0, "Anna Lee", "An oxzzing."}}, nil),
		meeting(3, "None", "en", day(3), []utterance{{0, "Anna Lee", "None."}}, nil))
	h.catchUp()
	for query, want := range map[string]string{"ox*": "2 (exact true)", "-ox*": "3 (exact true)", "oxzzed": "2 (exact true)", "speaker:anna ox*": "2 (exact true)"} {
		a := h.search(Request{Query: query, Viewer: archive.ViewerWith("anna@own.example")})
		if got := fmt.Sprintf("%s (exact %v)", hitIDs(a), a.Exact); got != want {
			t.Errorf("%s finds %s, want %s", query, got, want)
		}
	}
}
