package search

import (
	"strings"
	"testing"

	"minutebook/archive"
)

// namedMeetings have people whose names have a hyphen, an apostrophe, or a word of three
// characters and more without spaces.
func namedMeetings(actions bool) [][]byte {
	as := func(name string) map[string]any {
		more := map[string]any{"recorded_by": map[string]any{"name": name, "email": "x@own.example", "email_domain": "own.example", "team": "Ops"}}
		if actions {
			more["action_items"] = []any{map[string]any{"description": "Call", "completed": false, "user_generated": true, "assignee": map[string]any{"name": name}}}
		}
		return more
	}
	return [][]byte{
		meeting(1, "One", "en", day(1), []utterance{{0, "Jean-Luc Picard", "Engage the engines."}, {9, "Bob Stone", "Yes."}}, as("Jean-Luc Picard")),
		meeting(2, "Two", "en", day(2), []utterance{{0, "Miles O'Brien", "The engines are old."}}, as("Miles O'Brien")),
		meeting(3, "Three", "ja", day(3), []utterance{{0, "佐々木 希", "engines です"}, {9, "木々佐 優", "yes"}}, as("佐々木 希")),
		meeting(4, "Four", "ko", day(4), []utterance{{0, "마이클 조던", "engines"}}, as("마이클 조던")),
		meeting(5, "Five", "th", day(5), []utterance{{0, "สมชาย ใจดี", "engines"}}, as("สมชาย ใจดี")),
		meeting(6, "Six", "ja", day(6), []utterance{{0, "佐々 一", "engines"}}, as("佐々 一")),
	}
}

// firstQuoted returns who says the first moment of an answer and its part, or why the first
// meeting is in it.
func (h *fixture) firstQuoted(query string) string {
	h.t.Helper()
	found := h.search(Request{Query: query}).Meetings
	switch {
	case len(found) == 0:
		return "nothing"
	case len(found[0].Moments) == 0:
		return found[0].Why
	}
	return found[0].Moments[0].Speaker + " " + PartName(found[0].Moments[0].Part)
}

// TestAWordOfANameIsFound asks for people by one word of their names.
func TestAWordOfANameIsFound(t *testing.T) {
	h := newFixture(t)
	h.add(namedMeetings(true)...)
	h.catchUp()
	for value, want := range map[string]string{"Jean-Luc": "1", "jean-l*": "1", "O'Brien": "2", "o’br*": "2", "佐々木": "3", "佐々木*": "3", "佐々": "6 3", "マイクル": "",
		"마이클": "4", "สมชาย": "5", "Jean": "1", "\"Jean-Luc Picard\"": "1", "ann": "", "*": ""} {
		for _, field := range []string{"speaker", "person", "recorded-by", "assignee"} {
			a := h.search(Request{Query: field + ":" + value})
			if got := hitIDs(a); got != want {
				t.Errorf("%s:%s finds %q, want %q", field, value, got, want)
			}
		}
		a := h.search(Request{Query: "engines sort:date speaker:" + value})
		if got := hitIDs(a); got != want {
			t.Errorf("the word by speaker:%s is in %q, want %q", value, got, want)
		}
	}
	for _, value := range []string{"Jean-Luc", "jean-l*"} {
		if got := h.firstQuoted("speaker:" + value); !strings.HasPrefix(got, "Jean-Luc Picard ") {
			t.Errorf("speaker:%s quotes %s", value, got)
		}
	}
	if got := h.firstQuoted("speaker:佐々木"); !strings.HasPrefix(got, "佐々木 希 ") {
		t.Errorf("speaker:佐々木 quotes %s", got)
	}
}

// TestAPhraseIsFoundAmongNames asks for names without a field.
func TestAPhraseIsFoundAmongNames(t *testing.T) {
	h := newFixture(t)
	h.add(namedMeetings(false)...)
	h.catchUp()
	for query, want := range map[string]string{"佐々木": "3", "마이클": "4", "สมชาย": "5", `"Jean-Luc Picard"`: "1", `"miles o'brien"`: "2", `"luc picard"`: "",
		`-"miles o'brien" engines sort:date -마이클`: "6 5 3 1", `in:title "Jean-Luc Picard"`: ""} {
		if got := hitIDs(h.search(Request{Query: query})); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	if got := h.firstQuoted(`"Jean-Luc Picard"`); got != "“Jean-Luc Picard” in a name." {
		t.Errorf("it is found since: %s", got)
	}
}

// TestPartsBesideASpeaker looks for words in parts of the meetings in which somebody speaks.
func TestPartsBesideASpeaker(t *testing.T) {
	h := newFixture(t)
	summary := func(text string) map[string]any {
		return map[string]any{"default_summary": map[string]any{"template_name": "General", "markdown_formatted": text}}
	}
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "Good morning."}, {90, "Bob Stone", "A walrus budget."}}, summary("The walrus budget grows, the walrus is fed.")),
		meeting(2, "Two", "en", day(2), []utterance{{0, "Anna Lee", "A walrus budget."}}, nil),
		meeting(3, "Three", "en", day(3), []utterance{{0, "Bob Stone", "Yes."}}, summary("The walrus budget.")))
	h.catchUp()
	for query, want := range map[string]string{"speaker:anna walrus": "2", "speaker:anna in:summary walrus": "1", `speaker:anna in:summary "walrus budget"`: "1",
		"speaker:anna in:summary in:transcript walrus sort:date": "2 1", `speaker:anna (in:summary OR in:transcript) "walrus budget" sort:date`: "2 1",
		`speaker:anna in:summary OR in:transcript "the walrus budget" sort:date`: "1", "speaker:anna in:transcript walrus": "2", "speaker:cara in:summary walrus": "",
		"in:summary (speaker:anna walrus)": "1", "speaker:anna in:summary the": "1"} {
		if got := hitIDs(h.search(Request{Query: query})); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	if got := h.firstQuoted("speaker:anna in:summary walrus"); !strings.HasSuffix(got, " Summary") {
		t.Errorf("quoted is %s, want the summary", got)
	}
	trends, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"speaker:anna in:summary walrus"}, By: TrendMonth, Viewer: everyone})
	if err != nil || trends[0].Total != 2 {
		t.Errorf("the trend is %+v, %v, want 2 in all", trends, err)
	}
}

// TestOtherNamesAreSeenAsAWhole asks for a person with several names as somebody who sees some
// of the names: as a word, as a name of several, as an address and as who should do something.
func TestOtherNamesAreSeenAsAWhole(t *testing.T) {
	h := newFixture(t)
	with := func(recorder, assignee string) map[string]any {
		return map[string]any{"recorded_by": map[string]any{"name": "R", "email": recorder, "email_domain": "own.example", "team": "Ops"},
			"action_items": []any{map[string]any{"description": "Call", "assignee": map[string]any{"name": assignee}}}}
	}
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Cleo", "Yes."}}, with("viewer@own.example", "Ann Lee")),
		meeting(2, "Two", "en", day(2), []utterance{{0, "Zed Moon", "Yes."}}, with("viewer@own.example", "Sue Sun")),
		meeting(3, "Three", "en", day(3), []utterance{{0, "Mia", "Yes."}}, with("viewer@own.example", "Sue")),
		meeting(4, "Four", "en", day(4), []utterance{{0, "Zed", "Yes."}, {5, "Sue", "No."}}, with("hidden@own.example", "Moon")))
	h.catchUp()
	for _, c := range []struct{ query, other, want string }{
		{"person:cleo", "Zed", "1"}, {"person:zed", "Cleo", "2"}, {"person:cleo", "zed moon", "2 1"}, {"person:cleo", "MIA", "3 1"}, {"person:cleo", "zed@own.example", "2 1"},
		{"email:cleo@own.example", "mia@own.example", "3 1"}, {"email:cleo@own.example", "sue@own.example", "1"}, {`assignee:"ann lee"`, "sue sun", "2 1"}, {`assignee:"ann lee"`, "moon", "1"},
	} {
		_, value, _ := strings.Cut(strings.ReplaceAll(c.query, `"`, ""), ":")
		same := func(string) []string { return []string{c.other, value} }
		if got := hitIDs(h.search(Request{Query: c.query + " sort:date", Viewer: archive.ViewerWith("viewer@own.example"), SamePerson: same})); got != c.want {
			t.Errorf("%s, who is %s too, finds %q, want %q", c.query, c.other, got, c.want)
		}
	}
}
