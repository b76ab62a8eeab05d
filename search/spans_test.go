package search

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestSpansOfTime has a meeting far ahead, another without a length, and a place that has
// another time in winter.
func TestSpansOfTime(t *testing.T) {
	h := newFixture(t)
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	h.add(meeting(1, "Winter", "en", time.Date(2025, 12, 1, 12, 30, 0, 0, time.UTC), nil, nil), meeting(2, "May", "en", day(28), nil, map[string]any{"recording_end_time": nil}),
		meeting(3, "Ahead", "en", time.Date(9998, 12, 1, 12, 30, 0, 0, time.UTC), nil, nil))
	h.catchUp()
	for _, c := range []struct {
		query string
		loc   *time.Location
		want  string
	}{
		{"last:6m", time.UTC, "2 1"}, {"last:6m", newYork, "2"}, {"last:7d", time.UTC, "2"}, {"after:6m", newYork, "3 2"},
		{"shorter:1h", time.UTC, "3 1"}, {"longer:0m", time.UTC, "3 1"},
	} {
		if got := hitIDs(h.search(Request{Query: c.query, Location: c.loc})); got != c.want {
			t.Errorf("%s in %v finds %q, want %q", c.query, c.loc, got, c.want)
		}
	}
	_, err = h.index.Search(t.Context(), Request{Query: "on:7d", Viewer: everyone})
	if _, ok := errors.AsType[*QueryError](err); !ok {
		t.Errorf("on:7d: %v, want a mistake in the query", err)
	}
}

// TestABeginningWithManyWordsSaysSo has more words with one beginning than are looked for.
func TestABeginningWithManyWordsSaysSo(t *testing.T) {
	testrun.SkipUnderRace(t)
	var words strings.Builder
	for i := range maxVariants + 9 {
		fmt.Fprintf(&words, "ox%c%c%c ", 'a'+i/400, 'a'+i/20%20, 'a'+i%20)
	}
	h := newFixture(t)
	h.add(meeting(1, "Herd", "en", day(1), []utterance{{0, "Anna Lee", words.String()}}, nil), meeting(2, "oxzzz", "en", day(2), []utterance{{0, "Anna Lee", "None."}}, nil))
	h.catchUp()
	for query, want := range map[string]string{"ox*": "1 (exact false)", "in:title ox*": "2 (exact true)", "in:transcript ox*": "1 (exact false)", "sort:date -ox*": " (exact true)", "oxa*": "1 (exact true)"} {
		a := h.search(Request{Query: query})
		if got := fmt.Sprintf("%s (exact %v)", hitIDs(a), a.Exact); got != want {
			t.Errorf("%s finds %s, want %s", query, got, want)
		}
	}
	if a := h.search(Request{Query: "ox*", Within: 1}); a.Total != 1 || !a.Exact {
		t.Errorf("in one meeting: %d, exact %v", a.Total, a.Exact)
	}
}
