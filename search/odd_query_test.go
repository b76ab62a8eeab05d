package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestEveryRecordingIsFoundByItsNumber has recordings with the longest numbers that the service can
// give: each is found by its number, and the check of the index finds no damage.
func TestEveryRecordingIsFoundByItsNumber(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	ids := []int64{1, 999999999999999999, 1767890123456789012, math.MaxInt64}
	for i, id := range ids {
		h.add(meeting(id, "Budget", "en", day(1+i), []utterance{{0, "Anna Lee", "The budget is late."}}, nil))
	}
	h.catchUp()
	for _, id := range ids {
		if a, err := h.index.Search(t.Context(), Request{Query: fmt.Sprintf("id:%d", id), Viewer: archive.Viewer{All: true}}); err != nil || hitIDs(a) != fmt.Sprint(id) {
			t.Errorf("the recording %d: %+v, %v", id, a, err)
		}
	}
	if err := h.index.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

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

// TestFiltersFindNoMore asks for a language of a region, by dates at the borders of the calendar
// and for meetings without one, and for a recording that ends in a far year.
func TestFiltersFindNoMore(t *testing.T) {
	h := newFixture(t)
	undated := map[string]any{"recording_start_time": nil, "recording_end_time": nil, "created_at": nil}
	long := map[string]any{"recording_end_time": "2095-01-01T00:00:00Z"}
	h.add(meeting(1, "Um", "pt-BR", day(1), nil, long), meeting(2, "Dois", "pt-PT", day(2), nil, nil), meeting(3, "One", "en", day(3), nil, nil), meeting(4, "Two", "en_GB", time.Unix(0, 0), nil, undated))
	h.catchUp()
	for query, want := range map[string]string{"language:pt-BR": "1", "language:pt": "2 1", "-language:en-GB": "3 2 1", "language:en": "3 4", "language:en_gb": "4",
		"before:2026-05-02": "1", "on:1970": "", "-before:2026": "3 2 1 4", "before:0001": "", "-before:0001-01-01": "3 2 1 4", "on:0000": "", "on:0000-12-31": "", "after:0001": "3 2 1", "after:9999": "", "before:9999": "3 2 1",
		"longer:8h": "1", "shorter:8h": "3 2"} {
		if got := hitIDs(h.search(Request{Query: query})); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// FuzzSearch: any text and any page marker is answered, or is refused as one of the two, and
// shows a person no meeting but those that the person sees, each once.
func FuzzSearch(f *testing.F) {
	h := newFixture(f)
	h.add(threeMeetings()...)
	h.add(meeting(4, "ـ.ـ budget", "ar", day(4), []utterance{{0, "ـ_ـ", "ـ-ـ a ـ budget talks"}, {1, "Li", "会議 は 東京都, ــ e-mail"}}, nil))
	h.catchUp()
	first := h.search(Request{Query: "budget", Limit: 1})
	for _, q := range []string{"budget", "the -budget", "speaker:anna OR (title:\"budget review\" sort:date)", "last:9999y longer:0m", "ـ_ـ", "buget~ mark* in:transcript", "会議 -language:ja", "id:1 on:2026-05 action:open"} {
		f.Add(q, first.Next, false)
		f.Add(q, "", true)
	}
	f.Add("budget", "eyJxIjowLCJ0IjowLCJpIjowfQ", false)
	seen := map[bool]map[int64]bool{}
	for all, viewer := range map[bool]archive.Viewer{true: everyone, false: archive.ViewerWith("zoe@client.example")} {
		seen[all] = map[int64]bool{}
		rows, err := h.archive.List(f.Context(), archive.ListQuery{Viewer: viewer, IncludeGone: true})
		if err != nil {
			f.Fatal(err)
		}
		for _, r := range rows {
			seen[all][r.RecordingID] = true
		}
	}
	f.Fuzz(func(t *testing.T, text, after string, all bool) {
		r := Request{Query: text, Viewer: archive.ViewerWith("zoe@client.example"), Limit: 2, Facets: true, Histogram: true, After: after}
		if all {
			r.Viewer = everyone
		}
		shown := map[int64]bool{}
		for range 4 { // pages
			a, err := h.index.Search(t.Context(), r)
			wrong, isWrong := errors.AsType[*QueryError](err)
			if isWrong || errors.Is(err, ErrCursor) && r.After == after {
				if isWrong && strings.ContainsFunc(wrong.Error(), unicode.IsControl) {
					t.Errorf("%q: %q", text, wrong)
				}
				return
			}
			if err != nil {
				t.Fatalf("%q after %q: %v", text, r.After, err)
			}
			for _, m := range a.Meetings {
				if !seen[all][m.Row.RecordingID] || shown[m.Row.RecordingID] {
					t.Errorf("%q after %q shows meeting %d, which is hidden or was there before", text, r.After, m.Row.RecordingID)
				}
				shown[m.Row.RecordingID] = true
			}
			if a.Next == "" {
				return
			}
			r.After = a.Next
		}
	})
}

// FuzzRecord: a record of the index is read as it was written, and other bytes are refused
// or are no more texts than bytes.
func FuzzRecord(f *testing.F) {
	whole := record{ID: 7, Start: -1, Seconds: 60, Words: 1 << 40, Language: "en", Type: "Sync", Team: "Ops", Has: []string{"video"}, Domains: []string{"a.example", ""}, People: []string{"Ann", "会"}}
	f.Add(whole.encode(), "a", int64(1))
	f.Add(whole.encode()[:20], "", int64(-1))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "\x00\xff", int64(1)<<62)
	f.Fuzz(func(t *testing.T, raw []byte, text string, n int64) {
		var texts []string
		intern := func(b []byte) uint32 {
			texts = append(texts, string(b))
			return uint32(len(texts) - 1)
		}
		var read storedRecord
		if err := read.decode(raw, intern); len(texts) > len(raw) {
			t.Errorf("%d bytes have %d texts, %v", len(raw), len(texts), err)
		}
		texts = nil
		want := record{ID: n, Start: -n, Seconds: n / 2, Words: n + 1, Language: text, Has: []string{text, "b"}, People: []string{"c", text}}
		if err := read.decode(want.encode(), intern); err != nil {
			t.Fatal(err)
		}
		if read.id != n || read.start != -n || read.seconds != n/2 || read.words != n+1 || !slices.Equal(texts, []string{text, "", "", text, "b", "c", text}) {
			t.Errorf("%+v is read as %+v with %q", want, read, texts)
		}
	})
}
