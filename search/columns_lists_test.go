package search

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"minutebook/internal/testrun"
	"minutebook/search/text"
)

// TestLists gives documents any lists and reads them back; equal ones are kept once.
func TestLists(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOf(rapid.SliceOfN(rapid.Uint32Range(0, 3), 0, 3)).Draw(t, "lists")
		w := newListWriter(len(given))
		room := 0
		for i, list := range given {
			w.add(list)
			if !slices.ContainsFunc(given[:i], func(before []uint32) bool { return slices.Equal(before, list) }) {
				room += 1 + len(list)
			}
		}
		l := w.finish()
		for doc, list := range given {
			if got := l.list(uint32(doc)); !slices.Equal(got, list) {
				t.Fatalf("document %d has %v, want %v", doc, got, list)
			}
		}
		if len(l.numbers) != room {
			t.Fatalf("%d numbers are kept, want %d", len(l.numbers), room)
		}
	})
}

// TestPlaces finds each document by its id, and none by another.
func TestPlaces(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.OneOf(rapid.Int64Range(-50, 50), rapid.Int64()), rapid.ID).Draw(t, "ids")
		p := newPlaces(ids)
		for doc, id := range ids {
			if got, ok := p.find(id); !ok || got != uint32(doc) {
				t.Fatalf("%d is document %d (%t), want %d", id, got, ok, doc)
			}
		}
		other := rapid.Int64().Draw(t, "other")
		if doc, ok := p.find(other); ok != slices.Contains(ids, other) {
			t.Fatalf("%d is document %d of %v", other, doc, ids)
		}
	})
}

// TestValuesWith finds the same values by the beginnings of their words as a look at each
// value does, also after others were added.
func TestValuesWith(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(t *rapid.T) {
		c := newColumnCache()
		for range 3 {
			for _, value := range rapid.SliceOf(rapid.StringMatching(`[abAÉ]{0,2}( [ab]{1,2}){0,2}`)).Draw(t, "values") {
				c.intern([]byte(value))
			}
			prefix := rapid.StringMatching(`[abe]{1,2}( [ab]{0,1})?`).Draw(t, "prefix")
			var want []uint32
			for n, value := range c.allValues() {
				if folded := strings.Join(text.PhraseTerms(value), " "); strings.HasPrefix(folded, prefix) || strings.Contains(folded, " "+prefix) {
					want = append(want, uint32(n))
				}
			}
			if got := c.valuesWith(prefix); !slices.Equal(got, want) {
				t.Fatalf("%q begins values %v of %q, want %v", prefix, got, c.allValues(), want)
			}
		}
	})
}
