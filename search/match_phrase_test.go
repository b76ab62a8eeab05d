package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// longMeetings are more meetings than are read for a phrase that is in none of their moments,
// when all its words are in each.
func longMeetings(title, lang, said string) (raws [][]byte) {
	const moments = 60
	for i := range 2 * maxRead / (readCost * moments) {
		var lines []utterance
		for n := range moments {
			lines = append(lines, utterance{61 * n, "Anna Lee", said})
		}
		raws = append(raws, meeting(int64(100+i), title, lang, day(1).Add(time.Duration(i)*time.Hour), lines, nil))
	}
	return raws
}

// TestAPhraseIsFoundBehindManyNewerMeetings asks for an old meeting with a phrase, all pairs
// of which more newer meetings have than are read, by whatever narrows the query to it.
func TestAPhraseIsFoundBehindManyNewerMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	raws := longMeetings("Weekly sales, sales review", "en", "We met at the end. The end of it.")
	old := map[string]any{"meeting_type": "Retro"}
	raws = append(raws,
		meeting(1, "Weekly sales review", "en", time.Date(2020, 1, 1, 9, 0, 0, 0, time.UTC), []utterance{{0, "Olga Old", "That is at the end of the long road home."}}, old),
		meeting(2, "Weekly sales, sales review", "en", time.Date(2020, 1, 2, 9, 0, 0, 0, time.UTC), []utterance{{0, "Olga Old", "We met at the end. The end of it."}}, old))
	h.add(raws...)
	h.catchUp()
	if a := h.search(Request{Query: `"at the end of"`}); a.Total != 0 || a.Exact {
		t.Errorf("without more, %d are found (exact %v): there are too few meetings", a.Total, a.Exact)
	}
	for _, query := range []string{"before:2025", "type:retro", "person:olga", "id:1", `-type:"sales call"`, "speaker:olga", `"long road home"`, "road",
		`title:"weekly sales review"`, "(type:retro OR id:1)"} {
		for _, q := range []string{`"at the end of" ` + query, query + ` "at the end of"`} {
			if a := h.search(Request{Query: q}); hitIDs(a) != "1" || !a.Exact {
				t.Errorf("%q finds %q (exact %v)", q, hitIDs(a), a.Exact)
			}
		}
	}
	for query, want := range map[string]string{`before:2025 -"at the end of"`: "2", `"at the end of" -road`: ""} {
		if a := h.search(Request{Query: query}); hitIDs(a) != want {
			t.Errorf("%q finds %q, want %q", query, hitIDs(a), want)
		}
	}
	a := h.search(Request{Query: `"at the end of"`, Within: 1})
	if hitIDs(a) != "1" || !a.Exact || len(a.Meetings[0].Moments) == 0 {
		t.Errorf("within the meeting: %q (exact %v)", hitIDs(a), a.Exact)
	}
	if got, want := h.trendOf(`"at the end of" before:2025`, TrendMonth, everyone), "1 2020-01=1"; got != want {
		t.Errorf("said %s times, want %s", got, want)
	}
	a = h.search(Request{Query: `"met at the end" type:retro`, Facets: true})
	if got := fmt.Sprint(a.Facets[2]); got == fmt.Sprint(Facet{Field: "type", Values: []FacetValue{{"Retro", 1}}}) {
		t.Errorf("the other types are counted as if none had the phrase: %s", got)
	}
}

// TestABudgetForNoTitleIsNoDamage looks for a phrase in titles when fewer entries may still be
// read than a title counts as: the answer is not exact, and the index not taken for damaged.
func TestABudgetForNoTitleIsNoDamage(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "Weekly sales, sales review", "en", day(1), nil, nil))
	h.catchUp()
	err := h.index.ask(t.Context(), everyone, func(s *snapshot) error {
		c, err := s.findPhrase(newTerm("weekly sales review", false), &readBudget{titleCost - 1})
		if err != nil || len(c.waiting) != 1 {
			t.Fatalf("%d fields are to be read: %v", len(c.waiting), err)
		}
		if err := c.read(s.visible()); err != nil {
			return err
		}
		if c.settle(s.visible()) {
			t.Error("the answer is exact")
		}
		return nil
	})
	if err != nil || h.index.Progress().Damaged {
		t.Errorf("%v; then the index is %+v", err, h.index.Progress())
	}
}

// TestAWordWithoutSpacesIsFoundInAllMeetings lists more meetings with a word of four
// characters than are read for it.
func TestAWordWithoutSpacesIsFoundInAllMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(longMeetings("会議", "ja", "予算会、算会議。")...)
	h.add(meeting(1, "会議", "ja", time.Date(2020, 1, 1, 9, 0, 0, 0, time.UTC), []utterance{{0, "Keiko", "来週の予算会議です。"}}, nil))
	h.catchUp()
	newest := h.search(Request{Query: ""}).Meetings[0].Row.RecordingID
	for _, query := range []string{"予算会議", `"予算会議"`, "予算会議です"} {
		a := h.search(Request{Query: query, Limit: 100})
		ids := strings.Fields(hitIDs(a))
		if !slices.Contains(ids, "1") || a.Exact != (query == "予算会議です") || slices.Contains(ids, fmt.Sprint(newest)) {
			t.Errorf("%q finds %q (exact %v)", query, ids, a.Exact)
		}
	}
	if a := h.search(Request{Query: "-予算会議 before:2025"}); a.Total != 0 || !a.Exact {
		t.Errorf("without the word: %q (exact %v)", hitIDs(a), a.Exact)
	}
}

// TestAFrequentWordIsFoundByWhoSaidIt asks for words that moments leave out, by the speaker.
func TestAFrequentWordIsFoundByWhoSaidIt(t *testing.T) {
	h := newFixture(t)
	h.add(
		meeting(1, "Plan", "en", day(1), []utterance{{0, "Anna Lee", "No, thanks. No."}, {90, "Bob Stone", "Which ones?"}, {180, "Anna Lee", "Nothing."}}, nil),
		meeting(2, "Plan", "en", day(2), []utterance{{0, "Anna Lee", "Fine."}, {90, "Bob Stone", "No more of that."}}, nil))
	h.catchUp()
	for query, want := range map[string]string{"speaker:anna no": "1", "speaker:bob no": "2", "speaker:bob which": "1", "speaker:anna -no": "2", "speaker:anna no nothing": "1",
		"speaker:anna no before:2026-05-02": "1", "speaker:anna when": "", "speaker:anna fine no": "2"} {
		a := h.search(Request{Query: query})
		if hitIDs(a) != want || !a.Exact {
			t.Errorf("%q finds %q (exact %v), want %q", query, hitIDs(a), a.Exact, want)
		}
	}
	if m := h.search(Request{Query: "speaker:anna no"}).Meetings; len(m) == 1 && (len(m[0].Moments) == 0 || markHits(m[0].Moments[0].Snippet) != "[No], thanks. [No].") {
		t.Errorf("the moment is %+v", m[0].Moments)
	}
	if got, want := h.trendOf("speaker:anna no", TrendTeam, everyone), "2 Sales=2"; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
}

// TestAPhraseOfShortEntriesIsFoundAcrossMoments has a phrase of one word an entry, of which
// the rarest begins a moment.
func TestAPhraseOfShortEntriesIsFoundAcrossMoments(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "One", "en", day(1), []utterance{{0, "Anna Lee", "Morning."}, {56, "Anna Lee", "Alpha"}, {57, "Bob Stone", "bravo"}, {58, "Anna Lee", "charlie"}, {61, "Bob Stone", "delta."}}, nil),
		meeting(2, "Two", "en", day(2), []utterance{{0, "Anna Lee", "Alpha. Bravo. Charlie."}}, nil))
	h.catchUp()
	a := h.search(Request{Query: `"alpha bravo charlie delta"`})
	if got := hitIDs(a); got != "1" {
		t.Errorf("the phrase is found in %q", got)
	} else if m := a.Meetings[0].Moments; len(m) != 1 || m[0].Offset != 56*time.Second || markHits(m[0].Snippet) != "[Alpha]" {
		t.Errorf("quoted is %+v", m)
	}
}

// TestAPhraseBySomebodyIsPartlyInTheirMinute has a phrase in one to three entries at each place
// around the minute in which Anna speaks, and all its words are said in another order.
func TestAPhraseBySomebodyIsPartlyInTheirMinute(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	const minute = 6 // entries
	var raws [][]byte
	var want []string
	for _, phrase := range [][]string{{"alpha bravo charlie"}, {"alpha", "bravo charlie"}, {"alpha", "bravo", "charlie"}} {
		for first := range 3*minute - len(phrase) + 1 {
			var lines []utterance
			for i := range 3 * minute {
				line := utterance{61*(i/minute) + i%minute, "Bob Stone", "hm"}
				if i == 2*minute-1 {
					line.speaker = "Anna Lee"
				}
				if i >= first && i < first+len(phrase) {
					line.text = phrase[i-first]
				} else if i/minute == 1 {
					line.text = "charlie bravo alpha"
				}
				lines = append(lines, line)
			}
			id := int64(100*len(phrase) + first)
			raws = append(raws, meeting(id, "Minutes", "en", day(1).Add(-time.Duration(id)*time.Hour), lines, nil))
			if first+len(phrase) > minute && first < 2*minute {
				want = append(want, fmt.Sprint(id))
			}
		}
	}
	h.add(raws...)
	h.catchUp()
	for query, want := range map[string]int{`"alpha bravo charlie"`: len(raws), `speaker:anna "alpha bravo charlie"`: len(want), `speaker:cy "alpha bravo charlie"`: 0} {
		if a := h.search(Request{Query: query, Limit: 100}); a.Total != want || !a.Exact {
			t.Errorf("%s: %d meetings (exact %v), want %d", query, a.Total, a.Exact, want)
		}
	}
	a := h.search(Request{Query: `speaker:anna "alpha bravo charlie" sort:date`, Limit: 100})
	if got, want := hitIDs(a), strings.Join(want, " "); got != want {
		t.Errorf("found in %s, want %s", got, want)
	}
	for _, m := range slices.Concat(a.Meetings, h.search(Request{Query: `"alpha bravo charlie"`, Limit: 100}).Meetings) {
		if id := int(m.Row.RecordingID); len(m.Moments) == 0 || m.Moments[0].Entry != id%100 || !strings.HasPrefix(markHits(m.Moments[0].Snippet), "[alpha") {
			t.Errorf("of %d is quoted %+v", id, m.Moments)
		}
	}
}

// TestAPhraseOverManyEntriesIsQuoted has a phrase of frequent words, one an entry, at each place
// around the ends of the pieces in which a transcript is read.
func TestAPhraseOverManyEntriesIsQuoted(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	const entries = 3*firstRead + 20
	phrase := []string{"to", "be", "or", "not", "to"}
	for first := range entries - len(phrase) + 1 {
		if (first+7)%firstRead > 8 && first+len(phrase) < entries-2 {
			continue
		}
		lines := make([]utterance, entries)
		for i := range lines {
			lines[i] = utterance{20 * i, "Anna Lee", "walrus"}
			if i >= first && i < first+len(phrase) {
				lines[i].text = phrase[i-first]
			}
		}
		h.add(meeting(int64(1+first), "Herd", "en", day(1), lines, nil))
	}
	h.catchUp()
	a := h.search(Request{Query: `"to be or not to"`, Limit: 100})
	for _, m := range a.Meetings {
		if len(m.Moments) != 1 || m.Moments[0].Entry != int(m.Row.RecordingID-1) {
			t.Errorf("said at entry %d, and quoted: %+v", m.Row.RecordingID-1, m.Moments)
		}
	}
	if a.Total != 32 || !a.Exact {
		t.Errorf("%d meetings are found (exact %v)", a.Total, a.Exact)
	}
}

// TestAStarBehindWordsThatASlashParts asks for the beginning of the last of words that are no word
// together, wherever words are looked for, and for that of a title's.
func TestAStarBehindWordsThatASlashParts(t *testing.T) {
	h := newFixture(t)
	crm := map[string]any{"deals": []any{map[string]any{"name": "Apple/Orchard"}}}
	h.add(
		meeting(1, "Kosten/Nutzen-Rechnung", "de", day(1), []utterance{{0, "Anna Lee", "The input/output ports, at 12:30."}}, map[string]any{"crm_matches": crm}),
		meeting(2, "Review", "en", day(2), []utterance{{0, "Anna Lee", "Output and input, a/b/control."}, {90, "Bob Stone", "The cost/e-mail ratio."}}, nil),
		meeting(3, "Reviews", "ja", day(3), []utterance{{0, "Keiko", "予算会議です。input/会議室"}, {90, "Bob Stone", "The a/b"}, {180, "Anna Lee", "contract."}}, nil))
	h.catchUp()
	for query, want := range map[string]string{
		"input/out*": "1", "-input/out*": "3 2", "input/put*": "", "12:3*": "1", "12:4*": "", "kosten/nutz*": "1", "title:kosten/nutz*": "1",
		"a/b/cont*": "3 2", "-a/b/cont*": "1", "a/b/contro*": "2", "a/b/cont* in:transcript": "3 2", "cost/em*": "2", "cost/e-m*": "2",
		"speaker:anna input/out*": "1", "speaker:bob cost/e*": "2", "speaker:keiko a/b/cont*": "", "speaker:anna -input/out*": "3 2",
		"apple/orch*": "1", "-apple/orch*": "3 2", "input/会*": "3", "input/会議*": "3", "-input/会議*": "2 1", "予算会議*": "3", "-予算会議*": "2 1",
		"title:review*": "3 2", "-title:review*": "1", "title:review": "3 2", "title:revi*": "3 2", "title:kost*": "1"} {
		a := h.search(Request{Query: query, Whole: true, Moments: 1})
		if hitIDs(a) != want || !a.Exact {
			t.Errorf("%q finds %q (exact %v), want %q", query, hitIDs(a), a.Exact, want)
		}
		for _, hit := range a.Meetings {
			if !strings.HasPrefix(query, "title:") && !strings.Contains(query, "-") && len(hit.Moments) == 0 {
				t.Errorf("%q quotes nothing of %d: %s", query, hit.Row.RecordingID, hit.Why)
			}
		}
	}
	if got, want := h.trendOf("a/b/cont*", TrendMonth, everyone), "2 2026-05=2"; got != want {
		t.Errorf("said %s times, want %s", got, want)
	}
}
