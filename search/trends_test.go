package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/archive"
)

// trendOf prints a trend: total, then key=count.
func (h *fixture) trendOf(query, by string, viewer archive.Viewer) string {
	h.t.Helper()
	out, err := h.index.Trends(h.t.Context(), TrendsRequest{Queries: []string{query}, By: by, Viewer: viewer})
	if err != nil {
		h.t.Fatal(err)
	}
	text := fmt.Sprint(out[0].Total)
	if !out[0].Exact {
		text += "+"
	}
	for _, p := range out[0].Points {
		text += fmt.Sprintf(" %s=%d", p.Key, p.Count)
	}
	return text
}

func trendMeetings() [][]byte {
	hidden := map[string]any{"recorded_by": map[string]any{"name": "Hilda Hidden", "email": "hilda@hidden.example", "team": "Hiding"}}
	return [][]byte{
		meeting(1, "Budget", "en", time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), []utterance{
			{0, "Anna Lee", "The budget, the quarterly budget. Quarterly"}, {5, "Bob Stone", "budget for all budgets."}, {300, "Bob Stone", "The quarterly budget, quarterly budget."}}, nil),
		meeting(2, "Forecast", "en", time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC), []utterance{{0, "Anna Lee", "A forecast and a budget."}}, nil),
		meeting(3, "Secret", "en", time.Date(2025, 12, 5, 9, 0, 0, 0, time.UTC), []utterance{{0, "Hilda Hidden", "Budget budget budget quarterly budget."}}, hidden),
	}
}

func TestTrends(t *testing.T) {
	h := newFixture(t)
	h.add(trendMeetings()...)
	h.catchUp()
	anna := archive.ViewerWith("anna@own.example")
	for _, c := range []struct{ query, by, want string }{
		{"budget", TrendMonth, "7 2026-01=6 2026-02=0 2026-03=1"}, // with budgets
		{`"quarterly budget"`, TrendMonth, "4 2026-01=4"},         // one runs into the next entry
		{"budget forecast", TrendMonth, "2 2026-03=2"},
		{"budget OR forecast", TrendMonth, "8 2026-01=6 2026-02=0 2026-03=2"},
		{"budget OR budgets", TrendMonth, "7 2026-01=6 2026-02=0 2026-03=1"}, // each occurrence once
		{"budgets OR budg* OR budget~ OR in:transcript budget", TrendMonth, "7 2026-01=6 2026-02=0 2026-03=1"},
		{"speaker:bob (budget OR budgets)", TrendMonth, "6 2026-01=6"},
		{`"quarterly budget" OR "Quarterly Budget"`, TrendMonth, "4 2026-01=4"},
		{"in:title (budget OR budgets)", TrendMonth, "1 2026-01=1"},
		{"budget on:2026-03", TrendMonth, "1 2026-03=1"},
		{"budget -forecast", TrendMonth, "6 2026-01=6"},
		{"speaker:bob budget", TrendMonth, "6 2026-01=6"}, // in the moments in which Bob speaks
		{"speaker:bob OR speaker:cy budget", TrendMonth, "6 2026-01=6"},
		{"speaker:cy OR speaker:dee budget", TrendMonth, "0"},
		{"speaker:anna OR speaker:anna@own.example budget", TrendMonth, "5 2026-01=4 2026-02=0 2026-03=1"}, // without the word that Bob says five minutes later
		{"budget", TrendTeam, "7 Sales=7"},
		{"budget", TrendPerson, "7 Anna Lee=7 Bob Stone=6"},
		{"in:title budget", TrendMonth, "1 2026-01=1"},
		{"type:sales*", TrendMonth, "0"},
		{`type:"sales call"`, TrendMonth, "2 2026-01=1 2026-02=0 2026-03=1"},
		{"walrus", TrendMonth, "0"},
		{"the", TrendTeam, "3 Sales=3"},
		{`in:crm "quarterly budget"`, TrendMonth, "0"},
	} {
		if got := h.trendOf(c.query, c.by, anna); got != c.want {
			t.Errorf("%q by %s: %s, want %s", c.query, c.by, got, c.want)
		}
	}
	if got := h.trendOf("budget", TrendTeam, everyone); got != "11 Sales=7 Hiding=4" {
		t.Errorf("the owner's count: %s", got)
	}
	if got := h.trendOf("budget", TrendMonth, archive.ViewerWith("stranger@else.example")); got != "0" {
		t.Errorf("a stranger's count: %s", got)
	}
	both, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"forecast", "report"}, By: TrendPerson, Viewer: everyone})
	if err != nil || fmt.Sprint(both[0].Points, both[1].Points) != "[{Anna Lee 1}] [{Anna Lee 0}]" {
		t.Errorf("two by person: %v, %v", both, err)
	}
	var wrong *QueryError
	if _, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"nope:"}, Viewer: everyone}); !errors.As(err, &wrong) {
		t.Errorf("a wrong query: %v", err)
	}
}

// TestTrendsPutSpellingsTogether counts by teams and people that are written in several ways,
// also in one meeting.
func TestTrendsPutSpellingsTogether(t *testing.T) {
	h := newFixture(t)
	for i, c := range []struct{ team, speaker, said string }{
		{"Sales", "ANNA LEE", "Budget, forecast, forecast."}, {"sales", "anna lee", "Budget, budget."}, {"Sáles", "Ánna Lee", "Budget."}, {"Ops", "Bob Stone", "Budget."}} {
		by := map[string]any{"name": c.speaker, "email": "a@own.example", "email_domain": "own.example", "team": c.team}
		h.add(meeting(int64(i+1), "Plan", "en", day(1+i), []utterance{{0, c.speaker, c.said}, {5, "Anna Lee", "Fine."}}, map[string]any{"recorded_by": by}))
	}
	h.catchUp()
	for query, want := range map[string]string{"budget": "5 sales=4 Ops=1", "forecast": "2 Sales=2", "team:sales budget": "4 sales=4"} {
		if got := h.trendOf(query, TrendTeam, everyone); got != want {
			t.Errorf("%s by team: %s, want %s", query, got, want)
		}
	}
	if got, want := h.trendOf("budget", TrendPerson, everyone), "5 Anna Lee=5 Bob Stone=1"; got != want {
		t.Errorf("by person: %s, want %s", got, want)
	}
	both, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"budget", "forecast"}, By: TrendTeam, Viewer: everyone})
	if err != nil || fmt.Sprint(both[0].Points, both[1].Points) != "[{Sales 4} {Ops 1}] [{Sales 2} {Ops 0}]" {
		t.Errorf("two queries by team: %v, %v", both, err)
	}
}

// TestTrendsSayWhatIsLeftOut counts by more teams and people than there are points.
func TestTrendsSayWhatIsLeftOut(t *testing.T) {
	h := newFixture(t)
	for i := range facetValues + 3 {
		by := map[string]any{"name": fmt.Sprintf("Person %d", i), "email": "a@own.example", "email_domain": "own.example", "team": fmt.Sprintf("Team %d", i)}
		said := "Budget."
		if i == 14 {
			said = "Budget, budget, forecast."
		}
		h.add(meeting(int64(i+1), "Plan", "en", day(1), []utterance{{0, by["name"].(string), said}}, map[string]any{"recorded_by": by}))
	}
	h.catchUp()
	for _, by := range []string{TrendTeam, TrendPerson} {
		for limit, want := range map[int]int{0: facetValues, 14: 14, 15: 15, 40: 15} {
			out, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"budget", "forecast"}, By: by, Viewer: everyone, Limit: limit})
			if err != nil || len(out[0].Points) != want || out[0].More != (want < 15) || out[1].More || out[1].Points[0].Count != 1 {
				t.Errorf("by %s, at most %d: %+v, %v", by, limit, out, err)
			}
		}
	}
	if out, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"budget"}, By: TrendMonth, Viewer: everyone}); err != nil || out[0].More {
		t.Errorf("by month: %+v, %v", out, err)
	}
}

// TestFacetsStayHonest narrows by values of a facet: its other values keep the counts that
// choosing them adds.
func TestFacetsStayHonest(t *testing.T) {
	h := newFixture(t)
	more := func(kind string) map[string]any { return map[string]any{"meeting_type": kind} }
	say := []utterance{{0, "Anna Lee", "The budget."}}
	h.add(meeting(1, "One", "en", day(1), say, more("Call")), meeting(2, "Two", "en", day(2), say, more("Call")),
		meeting(3, "Three", "de", day(3), say, more("Review")), meeting(4, "Four", "en", day(40), []utterance{{0, "Bob Stone", "Nothing."}}, more("Standup")))
	h.catchUp()
	counts := func(query, field string) string {
		var out []string
		for _, f := range h.search(Request{Query: query, Facets: true}).Facets {
			for _, v := range f.Values {
				if f.Field == field {
					out = append(out, fmt.Sprintf("%s=%d", v.Value, v.Count))
				}
			}
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ query, field, want string }{
		{"budget", "type", "Call=2 Review=1"},
		{"budget type:Call", "type", "Call=2 Review=1"},
		{"budget type:Call OR type:Review", "type", "Call=2 Review=1"},
		{"budget type:Call", "language", "en=2"},
		{"budget type:Call language:de", "type", "Review=1"},
		{"budget type:Call language:de", "language", "en=2"},
		{"budget on:2026-07", "month", "2026-05=3"},
		{"budget zebra type:Call", "type", "Call=2 Review=1"}, // loosened
		{"budget zebra type:Standup", "type", "Call=2 Review=1"},
		{"what was decided about the budget and zebras? type:Standup", "type", "Call=2 Review=1"},
		{"the budget type:Standup", "type", "Call=2 Review=1"},
		{`"the budget" type:Standup`, "type", "Call=2 Review=1"},
		{"walrus type:Standup", "type", ""},
	} {
		if got := counts(c.query, c.field); got != c.want {
			t.Errorf("%q: %s are %s, want %s", c.query, c.field, got, c.want)
		}
	}
	f, err := h.index.Facet(context.Background(), FacetsRequest{Request: Request{Query: "", Viewer: everyone, Limit: 5}, Field: "person", Begins: "sto"})
	if err != nil || fmt.Sprint(f) != "{person [{Bob Stone 1}] false}" {
		t.Errorf("people that begin with sto: %v, %v", f, err)
	}
	if _, err := h.index.Facet(context.Background(), FacetsRequest{Request: Request{Viewer: everyone}, Field: "account"}); err == nil {
		t.Error("accounts are counted")
	}
}

// TestNotesAndSamePerson asks with functions that know notes and people's other names.
func TestNotesAndSamePerson(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "The budget."}}, nil),
		meeting(2, "Two", "en", day(2), []utterance{{0, "A. Leigh", "The budget."}}, nil),
		meeting(3, "Three", "en", day(3), []utterance{{0, "Bob Stone", "The budget."}}, nil))
	h.catchUp()
	same := func(value string) []string {
		if v := strings.ToLower(value); v == "anna lee" || v == "a. leigh" {
			return []string{"Anna Lee", "A. Leigh"}
		}
		return []string{value}
	}
	notes := func(_ context.Context, _ int64, add func(int64, time.Duration, string)) error {
		add(3, 4*time.Second, "Remember the budget")
		add(99, -1, "Remember")
		return nil
	}
	for query, want := range map[string]string{
		`speaker:"anna lee" budget`: "2 1", `speaker:"a. leigh"`: "2 1", "note:remember": "3", "budget -note:remember": "2 1"} {
		a := h.search(Request{Query: query + " sort:date", Notes: notes, SamePerson: same})
		if got := strings.ReplaceAll(hitIDs(a), ",", " "); got != want {
			t.Errorf("%s finds %s, want %s", query, got, want)
		}
		for _, m := range a.Meetings {
			if strings.Contains(query, "budget") && len(m.Moments) == 0 {
				t.Errorf("%s: nothing is quoted of %d", query, m.Row.RecordingID)
			}
		}
	}
	people := h.search(Request{Facets: true, SamePerson: same}).Facets[0]
	if fmt.Sprint(people.Values[0]) != "{Anna Lee 3}" {
		t.Errorf("people: %v", people)
	}
	merged, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{"budget"}, By: TrendPerson, Viewer: archive.Viewer{All: true}, SamePerson: same})
	if err != nil || len(merged) != 1 || len(merged[0].Points) != 2 || merged[0].Points[0].Count != 3 {
		t.Errorf("by person: %+v, %v", merged, err)
	}
	for _, query := range []string{"note:remember", "note:remember budget"} { // the note is quoted, and beside it the words
		got := h.search(Request{Query: query, Notes: notes}).Meetings[0]
		if m := got.Moments[0]; m.Part != PartNotes || m.Offset != 4*time.Second || m.Text != "Remember the budget" || len(got.Moments) != len(strings.Fields(query)) {
			t.Errorf("%s: %+v", query, got.Moments)
		}
	}
	for _, m := range h.search(Request{Query: "-note:remember OR budget", Notes: notes}).Meetings { // a note that is not asked for
		if m.Row.RecordingID == 3 && slices.ContainsFunc(m.Moments, func(m Moment) bool { return m.Part == PartNotes }) {
			t.Errorf("-note:remember OR budget quotes the note: %+v", m.Moments)
		}
	}
	if a := h.search(Request{Query: "note:remember"}); a.Total != 0 {
		t.Error("without notes something has one")
	}
}

// TestNotesAreReadOnce asks for several notes, as a person who sees one of the meetings, and for
// those of one meeting.
func TestNotesAreReadOnce(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "The budget."}}, nil),
		meeting(2, "Two", "en", day(2), []utterance{{0, "Hilda Hidden", "The budget."}}, map[string]any{"recorded_by": map[string]any{"name": "Hilda", "email": "hilda@hidden.example"}}))
	h.catchUp()
	reads := 0
	var asked int64
	notes := func(_ context.Context, only int64, add func(int64, time.Duration, string)) error {
		reads++
		asked = only
		add(2, time.Second, "The plan of Hilda")
		add(1, time.Second, "Plans for the summer")
		add(1, 2*time.Second, "Ask Hilda")
		return nil
	}
	for query, want := range map[string]string{
		"note:plan": "1", "note:plan note:hilda": "1", `note:"plan of"`: "", `note:"for the" OR note:zzz`: "1", "-note:plan": "", "note:sumer~ -note:winter*": "1", "note:plan budget": "1", "note:plan summer": ""} {
		reads = 0
		a := h.search(Request{Query: query, Notes: notes, Viewer: archive.ViewerWith("anna@own.example"), Facets: true, Trend: true})
		if got := hitIDs(a); got != want || reads != 1 || asked != 0 {
			t.Errorf("%s finds %q, want %q, with %d reads of meeting %d", query, got, want, reads, asked)
		}
	}
	for _, query := range []string{"budget", `"note:plan"`} {
		reads = 0
		if h.search(Request{Query: query, Notes: notes}); reads != 0 {
			t.Errorf("%s reads notes", query)
		}
	}
	if a := h.search(Request{Query: "note:plan", Notes: notes, Within: 1}); hitIDs(a) != "1" || asked != 1 {
		t.Errorf("in meeting 1: %q, with the notes of meeting %d", hitIDs(a), asked)
	}
	if _, err := h.index.Search(t.Context(), Request{Query: "note:&", Notes: notes}); err == nil {
		t.Error("a note without a word is looked for")
	}
}

// TestTrendOfAnAnswer compares the trend in a search's answer with that of the query
// without its dates.
func TestTrendOfAnAnswer(t *testing.T) {
	h := newFixture(t)
	h.add(trendMeetings()...)
	h.catchUp()
	for _, viewer := range []archive.Viewer{everyone, archive.ViewerWith("anna@own.example")} {
		for query, base := range map[string]string{
			"budget": "budget", "budget on:2026-03": "budget", `"quarterly budget" after:2026-02 before:2026-04`: `"quarterly budget"`,
			"budget -forecast on:2025-12": "budget -forecast", "on:2026-01": "", "last:1m speaker:bob budget": "speaker:bob budget",
			"(budget OR forecast) on:2026-03": "(budget OR forecast)", "walrus on:2026-03": "walrus",
		} {
			answer, err := h.index.Search(t.Context(), Request{Query: query, Viewer: viewer, Trend: true})
			if err != nil {
				t.Fatal(err)
			}
			want, err := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{base}, By: TrendMonth, Viewer: viewer})
			if err != nil {
				t.Fatal(err)
			}
			want[0].Query = answer.Trend.Query // as the query writes itself
			if diff := cmp.Diff(&want[0], answer.Trend); diff != "" {
				t.Errorf("%q: the trend of %q (-) and of the answer (+) differ:\n%s", query, base, diff)
			}
		}
	}
}

// A meeting that somebody dated far ahead does not hide the months of all others.
func TestOneMeetingFarAheadMovesNoChart(t *testing.T) {
	h := newFixture(t)
	h.add(trendMeetings()...)
	h.add(meeting(4, "Budget", "en", time.Date(9999, 12, 5, 9, 0, 0, 0, time.UTC), []utterance{{0, "Anna Lee", "A budget."}}, nil))
	h.catchUp()
	viewer := archive.ViewerWith("anna@own.example")
	if got, want := h.trendOf("budget", TrendMonth, viewer), "8 2026-01=6 2026-02=0 2026-03=1"; got != want {
		t.Errorf("the trend is %s, want %s", got, want)
	}
	a := h.search(Request{Query: "budget", Viewer: viewer, Histogram: true})
	if n := len(a.Histogram); n != 3 || a.Total != 3 {
		t.Errorf("%d meetings in %d bars", a.Total, n)
	}
	if got, want := h.trendOf("budget on:9999", TrendMonth, viewer), "1 9999-12=1"; got != want {
		t.Errorf("the trend of that year is %s, want %s", got, want)
	}
}

// A meeting without a date is counted and is in no month, and one of 1904 does not make a
// chart of years without meetings.
func TestMeetingsWithoutDateStretchNoChart(t *testing.T) {
	viewer := archive.ViewerWith("anna@own.example")
	for name, start := range map[string]string{"undated": "", "old": `"recording_start_time":"1904-01-01T09:00:00Z",`} {
		h := newFixture(t)
		h.add(trendMeetings()...)
		h.add([]byte(`{"recording_id":4,"title":"Budget",` + start + `"recorded_by":{"name":"Anna Lee","email":"anna@own.example"},
			"transcript":[{"speaker":{"display_name":"Anna Lee"},"text":"A budget.","timestamp":"00:00:01"}]}`))
		h.catchUp()
		if got, want := h.trendOf("budget", TrendMonth, viewer), "8 2026-01=6 2026-02=0 2026-03=1"; got != want {
			t.Errorf("%s: the trend is %s, want %s", name, got, want)
		}
		a := h.search(Request{Query: "budget", Viewer: viewer, Histogram: true, Facets: true})
		if n := len(a.Histogram); n != 3 || a.Total != 3 {
			t.Errorf("%s: %d meetings in %d bars", name, a.Total, n)
		}
		for _, f := range a.Facets {
			if want := "[{2026-03 1} {2026-01 1}]"; f.Field == "month" && fmt.Sprint(f.Values) != want {
				t.Errorf("%s: the months are %v, want %s", name, f.Values, want)
			}
		}
		if a := h.search(Request{Query: "id:4", Viewer: viewer, Histogram: true}); a.Total != 1 || (len(a.Histogram) > 0) != (name == "old") {
			t.Errorf("%s: alone it is %d meetings in the bars %v", name, a.Total, a.Histogram)
		}
	}
}

// TestTheLastMonthIsWithinTheCalendar has a meeting that begins in the year 10000 where the reader
// is, which neither JSON nor a query can say.
func TestTheLastMonthIsWithinTheCalendar(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "Plan", "en", time.Date(9999, 12, 31, 23, 30, 0, 0, time.UTC), nil, nil))
	h.catchUp()
	bars := h.search(Request{Histogram: true, Location: time.FixedZone("CET", 3600)}).Histogram
	if raw, err := json.Marshal(bars); err != nil || len(bars) != 1 || bars[0].From.Format("2006-01") != "9999-12" {
		t.Errorf("the histogram is %s: %v", raw, err)
	}
}
