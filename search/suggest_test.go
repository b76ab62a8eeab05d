package search

import (
	"fmt"
	"strings"
	"testing"

	"minutebook/archive"
)

func suggestMeetings() [][]byte {
	hilda := map[string]any{"meeting_type": "Secretwork", "recorded_by": map[string]any{"name": "Hilda Hidden", "email": "hilda@hidden.example", "email_domain": "hidden.example", "team": "Hiding"}}
	return [][]byte{
		meeting(1, "Budget review", "en", day(1), []utterance{{0, "Anna Lee", "The quarterly budget is final, the quarterly report is not."}, {9, "Bo Lindqvist", "Quarterly budget again."}}, nil),
		meeting(2, "Budget planning", "en", day(2), []utterance{{0, "Anna Lee", "Nothing about the quarterly budget."}}, nil),
		meeting(3, "Budget of the merger", "en", day(3), []utterance{{0, "Hilda Hidden", "The quarterly bulletproof vest, zyxotron merger, zyxotron merger."}}, hilda),
	}
}

// suggested lists the suggestions for a text.
func (h *fixture) suggested(text string, viewer archive.Viewer) []Suggestion {
	h.t.Helper()
	out, err := h.index.Suggest(h.t.Context(), SuggestRequest{Text: text, Viewer: viewer})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func TestSuggest(t *testing.T) {
	h := newFixture(t)
	h.add(suggestMeetings()...)
	h.catchUp()
	for _, c := range []struct{ text, kind, suggestion, query string }{
		{"ann", SuggestPerson, "Anna Lee", `person:"Anna Lee" `},
		{"lee", SuggestPerson, "Anna Lee", `person:"Anna Lee" `},
		{"budget anna l", SuggestPerson, "Anna Lee", `budget person:"Anna Lee" `},
		{"-travel lindq", SuggestPerson, "Bo Lindqvist", `-travel person:"Bo Lindqvist" `},
		{"person:lind", SuggestPerson, "Bo Lindqvist", `person:"Bo Lindqvist" `},
		{`budget speaker:"anna l`, SuggestPerson, "Anna Lee", `budget speaker:"Anna Lee" `},
		{"secr", SuggestType, "Secretwork", "type:Secretwork "},
		{"sales c", SuggestType, "Sales call", `type:"Sales call" `},
		{"sal", SuggestTeam, "Sales", "team:Sales "},
		{"type:", SuggestType, "Sales call", `type:"Sales call" `},
		{"has:s", SuggestField, "summary", "has:summary "},
		{"speak", SuggestField, "speaker: said while this person speaks", "speaker:"},
		{"budget pl", SuggestTitle, "Budget planning", `title:"Budget planning"`},
		{"quart", SuggestWord, "quarterly", "quarterly "},
		{"quart", SuggestPhrase, "quarterly budget", `"quarterly budget" `},
		{"quarterly bu", SuggestPhrase, "quarterly budget", `"quarterly budget" `},
		{"quarterly ", SuggestPhrase, "quarterly budget", `"quarterly budget" `},
		{`the "quarterly bu`, SuggestPhrase, "quarterly budget", `the "quarterly budget" `},
		{`“quarterly budget” ann`, SuggestPerson, "Anna Lee", `“quarterly budget” person:"Anna Lee" `},
		{`“quarterly budget”ann`, SuggestPerson, "Anna Lee", `“quarterly budget” person:"Anna Lee" `},
		{`"quarterly budget" ann`, SuggestPerson, "Anna Lee", `"quarterly budget" person:"Anna Lee" `},
		{`«quarterly budget» ann`, SuggestPerson, "Anna Lee", `«quarterly budget» person:"Anna Lee" `},
		{`„quarterly budget‟ ann`, SuggestPerson, "Anna Lee", `„quarterly budget‟ person:"Anna Lee" `},
		{`person:“Bo Lindqvist” ann`, SuggestPerson, "Anna Lee", `person:“Bo Lindqvist” person:"Anna Lee" `},
		{`speaker:«anna l`, SuggestPerson, "Anna Lee", `speaker:"Anna Lee" `},
		{`(report) ann`, SuggestPerson, "Anna Lee", `(report) person:"Anna Lee" `},
		{`(ann`, SuggestPerson, "Anna Lee", `(person:"Anna Lee" `},
		{"about the quarterly bu", SuggestPhrase, "about the quarterly budget", `"about the quarterly budget" `},
		{"xyz quarterly bu", SuggestPhrase, "quarterly budget", `xyz "quarterly budget" `},
	} {
		found := false
		all := h.suggested(c.text, everyone)
		for _, s := range all {
			found = found || s.Kind == c.kind && s.Text == c.suggestion && s.Query == c.query
		}
		if !found {
			t.Errorf("%q does not suggest %s %q (%s) but %+v", c.text, c.kind, c.suggestion, c.query, all)
		}
	}
	for _, text := range []string{"", " ", "(", `"`, "-", ":", "::", "a:b:c", "\xff\xfe", `"""`, "OR", strings.Repeat("x", 5000), "quarterly budget zzz", "nosuchfield:x", "“„”"} {
		h.suggested(text, everyone)
	}
	if s := h.suggested("quarterly bud", everyone); s[len(s)-1].Count != 2 {
		t.Errorf("counts %+v, want two meetings", s)
	}
}

// TestNamesOfWhichNothingIsLeft has a hidden meeting whose people, type and team are signs of
// which folding leaves nothing: suggestions and lists of values go on.
func TestNamesOfWhichNothingIsLeft(t *testing.T) {
	h := newFixture(t)
	h.add(suggestMeetings()...)
	h.add(meeting(4, "ـ.ـ", "ar", day(4), []utterance{{0, "ـ_ـ", "ـ-ـ a ـ ـ_ـ b"}}, map[string]any{"meeting_type": "ـ@ـ",
		"recorded_by": map[string]any{"name": "ـ.ـ", "email": "ـ@ـ.example", "email_domain": "ـ-ـ", "team": "ـ_ـ"}}))
	h.catchUp()
	for _, text := range []string{"ann", "ـ_ـ", "ـ-ـ ann", "person:ـ_ـ", "type:ـ"} {
		h.suggested(text, archive.ViewerWith("anna@own.example"))
		h.suggested(text, everyone)
	}
	f, err := h.index.Facet(t.Context(), FacetsRequest{Request: Request{Viewer: everyone, Limit: 5}, Field: "person", Begins: "anna"})
	if err != nil || len(f.Values) != 1 || len(h.suggested("lindq", everyone)) == 0 {
		t.Errorf("people that begin with anna: %v, %v", f, err)
	}
	if got := hitIDs(h.search(Request{Query: `"a ـ_ـ b"`})); got != "4" {
		t.Errorf("a phrase around such a sign finds %q", got)
	}
	if h.index.Progress().Damaged {
		t.Error("the index is taken for damaged")
	}
}

// TestASuggestedTitleIsNoBeginning types a title that ends with a star: the query of the suggestion
// finds that meeting alone.
func TestASuggestedTitleIsNoBeginning(t *testing.T) {
	h := newFixture(t)
	said := []utterance{{0, "Anna Lee", "Hello."}}
	h.add(meeting(1, "Board review*", "en", day(1), said, nil), meeting(2, "Board reviewers", "en", day(2), said, nil))
	h.catchUp()
	for _, s := range h.suggested("board rev", everyone) {
		if s.Kind == SuggestTitle && s.RecordingID == 1 {
			if got := hitIDs(h.search(Request{Query: s.Query})); got != "1" {
				t.Errorf("%s finds %s", s.Query, got)
			}
			return
		}
	}
	t.Error("the title is not suggested")
}

// TestSuggestHidesWhatIsHidden asks, with every prefix of the words of a hidden meeting,
// as somebody who does not see it.
func TestSuggestHidesWhatIsHidden(t *testing.T) {
	h := newFixture(t)
	h.add(suggestMeetings()...)
	h.catchUp()
	anna, stranger := archive.ViewerWith("anna@own.example"), archive.ViewerWith("stranger@else.example")
	texts := []string{"person:", "type:", "team:", "domain:", "language:", "speaker:h", "quarterly ", "quarterly b", `"quarterly bu`, "zyxotron ", "zyxotron m", "the quarterly bu", "budget of the m", "bulletproof "}
	for _, word := range []string{"hilda", "hidden", "hiding", "secretwork", "zyxotron", "bulletproof", "merger", "budget"} {
		for n := 1; n <= len(word); n++ {
			texts = append(texts, word[:n])
		}
	}
	for _, text := range texts {
		for _, s := range h.suggested(text, anna) {
			said := strings.ToLower(fmt.Sprintf("%s %s", s.Text, s.Query))
			for _, secret := range []string{"hilda", "hidden", "hiding", "secretwork", "zyxotron", "bulletproof", "merger"} {
				if strings.Contains(said, secret) && !strings.Contains(text, secret) || s.Count > 2 || s.RecordingID == 3 {
					t.Errorf("%q suggests %+v", text, s)
				}
			}
		}
		for _, s := range h.suggested(text, stranger) {
			if s.Kind != SuggestField {
				t.Errorf("%q suggests %+v to a stranger", text, s)
			}
		}
	}
}
