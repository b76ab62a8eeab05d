package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/testrun"
	"minutebook/search/query"
	"minutebook/search/text"
)

// TestSuggestWithoutSpaces completes words of scripts that need no spaces, behind other words.
func TestSuggestWithoutSpaces(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "Plan", "ja", day(1), []utterance{{0, "山田太郎", "会議室を予約"}, {9, "Anna Lee", "의사 회의실 예산 회의"}},
		map[string]any{"meeting_type": "営業会議", "recorded_by": map[string]any{"name": "Anna Lee", "email": "anna@own.example", "email_domain": "own.example", "team": "企画開発"}}))
	h.catchUp()
	for _, c := range []struct{ typed, kind, suggestion, query string }{
		{"budget 山田太", SuggestPerson, "山田太郎", "budget person:山田太郎 "},
		{"budget & 山田太郎", SuggestPerson, "山田太郎", "budget & person:山田太郎 "},
		{"budget 営業会", SuggestType, "営業会議", "budget type:営業会議 "},
		{"budget 企画開", SuggestTeam, "企画開発", "budget team:企画開発 "},
		{"budget & anna l", SuggestPerson, "Anna Lee", `budget & person:"Anna Lee" `},
		{"会議室", SuggestPhrase, "会議室", `"会議室" `},
		{"会議室 ", SuggestPhrase, "会議室を", `"会議室を" `},
		{"budget 会議室", SuggestPhrase, "会議室", `budget "会議室" `},
		{`ארה"ב anna l`, SuggestPerson, "Anna Lee", `ארה"ב person:"Anna Lee" `},
		{`ב"ארץ נהדרת" anna l`, SuggestPerson, "Anna Lee", `ב"ארץ נהדרת" person:"Anna Lee" `},
		{`"מ"פים בצה"ל" anna l`, SuggestPerson, "Anna Lee", `"מ"פים בצה"ל" person:"Anna Lee" `},
		{"회의실 ", SuggestPhrase, "회의실 예산", `"회의실 예산" `},
	} {
		all := h.suggested(c.typed, everyone)
		if !slices.ContainsFunc(all, func(s Suggestion) bool { return s.Kind == c.kind && s.Text == c.suggestion && s.Query == c.query }) {
			t.Errorf("%q does not suggest %s %q (%s) but %+v", c.typed, c.kind, c.suggestion, c.query, all)
		}
	}
	for _, typed := range []string{"x会議室", "会議室", "会議室 ", "会議 ", "budget 会議室を"} {
		for _, s := range h.suggested(typed, everyone) {
			if s.Kind == SuggestPhrase && (strings.Contains(s.Text, " ") || hitIDs(h.search(Request{Query: s.Text})) != "1" || strings.Contains(typed, "budget") && !strings.HasPrefix(s.Query, "budget ")) {
				t.Errorf("%q suggests %+v", typed, s)
			}
		}
	}
}

// TestASuggestedTitleFindsItself has quotation marks of all kinds in titles.
func TestASuggestedTitleFindsItself(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	for i, title := range []string{"Plan „Nord“ now", "Plan «Sud» now", "Plan “East” now", `Plan "West" now`, `Plan ארה"ב now`} {
		h.add(meeting(int64(i+1), title, "en", day(i+1), nil, nil))
		h.catchUp()
		found := false
		for _, s := range h.suggested("plan "+strings.Trim(strings.Fields(title)[1], quotes), everyone) {
			found = found || s.Kind == SuggestTitle && s.Text == title && hitIDs(h.search(Request{Query: s.Query})) == fmt.Sprint(i+1)
		}
		if !found {
			t.Errorf("%s is not suggested by a query that finds it", title)
		}
	}
}

// TestCountsAreOfWhatChoosingFinds follows each value of the facets and suggestions of people,
// teams, types and domains, also of a domain whose people have no address.
func TestCountsAreOfWhatChoosingFinds(t *testing.T) {
	h := newFixture(t)
	by := func(team, kind string) map[string]any {
		return map[string]any{"meeting_type": kind, "recorded_by": map[string]any{"name": "Zoe", "email": "z@own.example", "email_domain": "own.example", "team": team}}
	}
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "Yes."}, {3, "ANNA LEE", "No."}}, by("Sales", "Sales call")),
		meeting(2, "Two", "en", day(2), []utterance{{0, "Anna", "Yes."}}, by("sales", "SALES call")),
		meeting(3, "Three", "en", day(3), []utterance{{0, "anna lee", "Yes."}}, by("Sáles", "Sales Call")),
		meeting(4, "Four", "en", day(4), []utterance{{0, "Zoe Quill", "Yes."}}, by("Ops", "Sync")),
		meeting(5, "Five", "en", day(5), []utterance{{0, "Zoe Quill", "No."}}, map[string]any{"calendar_invitees": []any{
			map[string]any{"name": "Guest", "email_domain": "Client.example", "is_external": true}}}),
		meeting(6, "Six", "en", day(6), nil, map[string]any{"calendar_invitees": []any{
			map[string]any{"name": "Gil", "email": "gil@client.example", "email_domain": "client.example", "is_external": true}}}))
	h.catchUp()
	for _, f := range h.search(Request{Facets: true}).Facets {
		if f.Field != "person" && f.Field != "team" && f.Field != "type" && f.Field != "domain" {
			continue
		}
		seen := map[string]bool{}
		for _, v := range f.Values {
			chosen := (&query.Filter{Field: f.Field, Value: v.Value}).String()
			if got := h.search(Request{Query: chosen}).Total; got != v.Count || seen[text.Fold(v.Value)] {
				t.Errorf("beside %s stands %d, choosing it finds %d (twice: %v)", chosen, v.Count, got, seen[text.Fold(v.Value)])
			}
			seen[text.Fold(v.Value)] = true
		}
	}
	for _, typed := range []string{"ann", "zo", "person:", "speaker:z", "speaker:a", "recorded-by:", "sal", "type:", "team:", "domain:c"} {
		for _, s := range h.suggested(typed, everyone) {
			if s.Kind != SuggestPerson && s.Kind != SuggestTeam && s.Kind != SuggestType && s.Kind != SuggestCompany {
				continue
			}
			if got := h.search(Request{Query: s.Query}).Total; got != s.Count {
				t.Errorf("%q suggests %s with %d meetings, choosing it finds %d", typed, s.Query, s.Count, got)
			}
		}
	}
}

// TestSuggestedPeopleRecordedOrSpoke asks for recorders, speakers and assignees, of whom there are
// few among many guests who take part in more meetings.
func TestSuggestedPeopleRecordedOrSpoke(t *testing.T) {
	h := newFixture(t)
	var guests []any
	for i := range 60 {
		guests = append(guests, map[string]any{"name": fmt.Sprintf("Guest %02d", i), "email": fmt.Sprintf("g%d@client.example", i), "email_domain": "client.example", "is_external": true})
	}
	for i, name := range []string{"Gina Record", "Zoe Record", "GINA RECORD"} {
		h.add(meeting(int64(i+1), "Plan", "en", day(i+1), []utterance{{0, []string{"Gus Speak", "Zed Speak"}[i%2], "Yes."}}, map[string]any{"calendar_invitees": guests,
			"recorded_by":  map[string]any{"name": name, "email": "r@own.example", "email_domain": "own.example", "team": "Sales"},
			"action_items": []any{map[string]any{"description": "Call", "completed": false, "user_generated": true, "assignee": map[string]any{"name": "Gus Speak"}}}}))
	}
	h.catchUp()
	for typed, want := range map[string]string{"recorded-by:": "GINA RECORD 2, Zoe Record 1", "recorded-by:g": "GINA RECORD 2", "speaker:": "Gus Speak 2, Zed Speak 1", "speaker:g": "Gus Speak 2",
		"speaker:z": "Zed Speak 1", "assignee:g": "Gus Speak 3", "recorded-by:guest": ""} {
		var got []string
		for _, s := range h.suggested(typed, everyone) {
			got = append(got, fmt.Sprint(s.Text, " ", s.Count))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s suggests %q, want %q", typed, got, want)
		}
	}
}

// TestSuggestedPersonsAreMerged types names of a person who has two.
func TestSuggestedPersonsAreMerged(t *testing.T) {
	h := newFixture(t)
	for i, name := range []string{"Anna Lee", "Annie Smith"} {
		h.add(meeting(int64(i+1), "Plan", "en", day(i+1), []utterance{{0, name, "Yes."}}, map[string]any{"recorded_by": map[string]any{"name": name, "email": "a@own.example", "email_domain": "own.example"}}))
	}
	h.catchUp()
	same := func(name string) []string {
		if strings.HasPrefix(name, "Ann") {
			return []string{"Anna Lee", "Annie Smith"}
		}
		return nil
	}
	for typed, want := range map[string]string{"ann": "Anna Lee 2", "annie": "Annie Smith 2", "person:ann": "Anna Lee 2", "speaker:anni": "Annie Smith 2", "recorded-by:": "Anna Lee 2"} {
		found, err := h.index.Suggest(t.Context(), SuggestRequest{Text: typed, Viewer: everyone, SamePerson: same})
		var got []string
		for _, s := range found {
			if s.Kind == SuggestPerson {
				got = append(got, fmt.Sprint(s.Text, " ", s.Count))
			}
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s suggests %q, want %q: %v", typed, got, want, err)
		}
	}
}
