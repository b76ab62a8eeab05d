package search

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestHiddenMeetingsChangeNothing asks the same of two archives as a person who sees all
// meetings of the first one, and none of those that the second one has besides: all
// answers are the same to the byte.
func TestHiddenMeetingsChangeNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	alone, beside := newFixture(t), newFixture(t)
	for _, h := range []*fixture{alone, beside} {
		h.add(openMeetings()...)
	}
	beside.add(hiddenMeetings()...)
	for _, h := range []*fixture{alone, beside} {
		h.catchUp()
	}
	for _, question := range alikeQuestions() {
		want, got := question.ask(t, alone), question.ask(t, beside)
		if want != got {
			t.Errorf("%s tells of hidden meetings:\n%s\nwithout them\n%s", question.name, got, want)
		}
	}
}

func openMeetings() [][]byte {
	lines := []utterance{{0, "Anna Lee", "The budget for printing and the procurement of paper."}, {30, "Ben Ray", "Und wir reden über das Projekt, die Presse und den Preis."},
		{65, "Anna Lee", "A prognosis of the profit, one two three four, with a proviso."}, {130, "Ben Ray", "The deadline of the launch is in Malaga."}}
	return [][]byte{
		meeting(1, "Printing budget", "en", day(1), lines[:2], nil),
		meeting(2, "Launch", "en", day(3), lines[1:], nil),
		meeting(3, "Paper", "en", day(5), lines, map[string]any{"meeting_type": "Review", "default_summary": map[string]any{"markdown_formatted": "The procurement of paper is decided."}}),
	}
}

// hiddenMeetings are in other languages, and have many words that begin as the visible ones
// do, or are nearly the same.
func hiddenMeetings() (all [][]byte) {
	languages := []string{"de", "fr", "es", "ar", "hu", "ru", "ja"}
	hilda := map[string]any{"recorded_by": map[string]any{"name": "Hilda", "email": "hilda@hidden.example", "email_domain": "hidden.example", "team": "Hiding"}}
	for n := range 40 {
		var words string
		for i := range 60 {
			words += fmt.Sprintf("pro%c%c pri%c%c budge%c budg%ct dea%cline paper %c%c%c printing pro%c provi%co prov%cqo ", 'a'+i%26, 'a'+i/3, 'a'+i%26, 'a'+i/3, 'a'+i%26, 'a'+i%26, 'a'+i%26, 'a'+i%26, 'a'+i%25, 'b'+i%20, 'a'+i%26, 'a'+i%26, 'a'+i%26)
			words += fmt.Sprintf("prx%c%c%c ", 'a'+i%26, 'a'+n%26, 'a'+n/2)
		}
		all = append(all, meeting(int64(100+n), "Printing in secret", languages[n%len(languages)], day(1+n%20), []utterance{{0, "Hilda", words}, {70, "Hilda", "one two three five, the budget of printing und die Presse"}}, hilda))
	}
	return all
}

// alikeQuestion is a question, and its answer as text.
type alikeQuestion struct {
	name string
	ask  func(testing.TB, *fixture) string
}

func alikeQuestions() (all []alikeQuestion) {
	anna := archive.ViewerWith("anna@own.example")
	add := func(name string, ask func(h *fixture) (any, error)) {
		all = append(all, alikeQuestion{name, func(t testing.TB, h *fixture) string {
			t.Helper()
			answer, err := ask(h)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}})
	}
	for _, q := range []string{"", "budget", "bugdet", "printng", "prin*", "pro*", "pr*", "p*", "profit~", "budgets", "printed", "und Presse", "die Presse", "und wir", "the launch in Malaga",
		`"one two three"`, `"one two three four"`, `"über das"`, "speaker:ben und", `speaker:ben "das projekt"`, "speaker:anna profit", "deadlime", "proviqo", "prozess", "Projekte", "Preise",
		"paper -prx*", "-pr*", "-speaker:hil*", "What about the budget of printing?", "note:x", "-und", "team:sales", "team:hiding", "language:de", "language:en", "person:hil*", "paper sort:date", "paper budget profit", "paper zzz", "in:title printing"} {
		add("search "+q, func(h *fixture) (any, error) {
			a, err := h.index.Search(context.Background(), Request{Query: q, Viewer: anna, Facets: true, Histogram: true, Trend: true, Limit: 2})
			if err == nil {
				a.Progress.Position = archive.Position{}
				for i := range a.Meetings {
					a.Meetings[i].Row = &archive.Row{RecordingID: a.Meetings[i].Row.RecordingID}
				}
			}
			return a, err
		})
		add("trends "+q, func(h *fixture) (any, error) {
			return h.index.Trends(context.Background(), TrendsRequest{Queries: []string{q}, By: TrendPerson, Viewer: anna})
		})
	}
	for _, text := range []string{"p", "pr", "pro", "prof", "prog", "proc", "pri", "bud", "budget ", "paper ", "printing ", "printing bu", "one two ", "und ", "die p", "the pro", "dea", "ann", "hil", "team:", "type:", "language:", "domain:", "person:b", "laun"} {
		add("suggest "+text, func(h *fixture) (any, error) {
			return h.index.Suggest(context.Background(), SuggestRequest{Text: text, Viewer: anna})
		})
	}
	return all
}
