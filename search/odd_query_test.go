package search

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestNoQueryIsDamage asks queries of all parts of the language, also strange ones, for
// everything that an answer may have: none is taken for damage of the index.
func TestNoQueryIsDamage(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.add(meeting(4, "ـ.ـ budget", "ar", day(4), []utterance{{0, "ـ_ـ", "ـ-ـ a ـ budget talks"}, {1, "Li", "会議 は 東京都, ــ e-mail"}}, map[string]any{"meeting_type": "ـ",
		"crm_matches": map[string]any{"deals": []any{map[string]any{"name": "Golden Apple ـ_ـ Orchard"}}}}),
		meeting(5, "Empty", "", day(5), nil, nil))
	h.catchUp()
	values := []string{"anna", `"Anna Lee"`, "ann*", "*", "~", "ـ", "ـ_ـ", `"a ـ b"`, "会", "-", `"…"`, "zoe@client.example", "\u0301", "x"}
	pieces := []string{"budget", "the", "on", "it", "abc-123", "e-mail", "market*", "relaese~", "ـ*", "ـ~", "ـ_ـ", "a-ـ", "会", "会議", "京*", "\u0301", "ß", "o'brien", "?",
		`"were cut"`, `"golden apple"`, `"golden apple orchard"`, `"the budget for"`, `"ـ a"`, `"the on"`, `"a ـ_ـ b"`, "what", "did", "zebra", "summary", "a@b@c",
		"in:crm", "in:crm", "in:title", "in:transcript", "in:summary", "in:actions", "in:highlights", "has:crm", "has:summary", "is:gone", "is:external", "action:open",
		"on:2026-05", "after:2026", "before:1", "last:1y", "last:9999y", "longer:0m", "shorter:1h", "id:1", "id:0", "sort:date", "title:budget", "title:\"budget review\""}
	for _, field := range []string{"speaker", "person", "recorded-by", "email", "domain", "team", "type", "language", "account", "note", "assignee"} {
		for _, value := range values {
			pieces = append(pieces, field+":"+value)
		}
	}
	join := rapid.SampledFrom([]string{" ", " ", " ", " OR ", " -", " (", ") ", " OR -", " -("})
	viewers := []archive.Viewer{everyone, archive.ViewerWith("anna@own.example"), archive.ViewerWith("stranger@else.example")}
	asked := 0
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			text.WriteString(rapid.SampledFrom(pieces).Draw(t, "part"))
			text.WriteString(join.Draw(t, "join"))
		}
		query := strings.TrimSpace(text.String())
		query += strings.Repeat(")", max(0, strings.Count(query, "(")-strings.Count(query, ")")))
		viewer := rapid.SampledFrom(viewers).Draw(t, "viewer")
		r := Request{Query: query, Viewer: viewer, Facets: true, Trend: true, Histogram: true, Whole: rapid.Bool().Draw(t, "whole")}
		_, err := h.index.Search(t.Context(), r)
		if wrong := (*QueryError)(nil); errors.As(err, &wrong) {
			return
		}
		asked++
		for _, by := range []string{TrendMonth, TrendTeam, TrendPerson} {
			_, trendErr := h.index.Trends(t.Context(), TrendsRequest{Queries: []string{query}, By: by, Viewer: viewer})
			err = errors.Join(err, trendErr)
		}
		_, suggestErr := h.index.Suggest(t.Context(), SuggestRequest{Text: text.String(), Viewer: viewer})
		if err = errors.Join(err, suggestErr); err != nil {
			t.Fatalf("%q: %v", query, err)
		}
	})
	if asked == 0 || h.index.Progress().Damaged {
		t.Errorf("%d queries could be read; then the index is %+v", asked, h.index.Progress())
	}
}

// TestFiltersFindNoMore asks for a language of a region, and by dates for meetings without one.
func TestFiltersFindNoMore(t *testing.T) {
	h := newFixture(t)
	undated := map[string]any{"recording_start_time": nil, "recording_end_time": nil, "created_at": nil}
	h.add(meeting(1, "Um", "pt-BR", day(1), nil, nil), meeting(2, "Dois", "pt-PT", day(2), nil, nil), meeting(3, "One", "en", day(3), nil, nil), meeting(4, "Two", "en_GB", time.Unix(0, 0), nil, undated))
	h.catchUp()
	for query, want := range map[string]string{"language:pt-BR": "1", "language:pt": "2 1", "-language:en-GB": "3 2 1", "language:en": "3 4", "language:en_gb": "4",
		"before:2026-05-02": "1", "on:1970": "", "-before:2026": "3 2 1 4"} {
		if got := hitIDs(h.search(Request{Query: query})); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}
