package web

import (
	"cmp"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/search"
	"minutebook/search/text"
)

// marker finds in a text the words and phrases that a search's moments show as hits,
// by the same rules as the search.
type marker struct{ phrases [][]string } // each as terms, see text.PhraseTerms

// newMarker collects the hits of an answer's moments.
func newMarker(moments []search.Moment) marker {
	seen := map[string]bool{}
	var m marker
	for _, moment := range moments {
		for _, span := range moment.Snippet {
			if !span.Hit {
				continue
			}
			terms := text.PhraseTerms(span.Text)
			if key := strings.Join(terms, " "); key != "" && !seen[key] {
				seen[key] = true
				m.phrases = append(m.phrases, terms)
			}
		}
	}
	return m
}

// withoutFrequent returns the marker without the words that so many lines have that marking
// them would only hide the others.
func (m marker) withoutFrequent(entries []archive.Entry) marker {
	lines := make([]int, len(m.phrases))
	for _, e := range entries {
		words := text.NewSequence(text.Tokenize(e.Text))
		for i, p := range m.phrases {
			if first, _ := words.FindPhrase(p, 0); first >= 0 {
				lines[i]++
			}
		}
	}
	var rare marker
	for i, p := range m.phrases {
		if lines[i] <= 3 || lines[i]*6 <= len(entries) {
			rare.phrases = append(rare.phrases, p)
		}
	}
	if len(rare.phrases) == 0 {
		return m
	}
	return rare
}

// spans cuts a passage at its hits; it returns nil when there are none.
func (m marker) spans(passage string) []search.Span {
	var spans []search.Span
	at := 0
	for _, h := range m.hits(passage) {
		if h.start < at {
			continue
		}
		if h.start > at {
			spans = append(spans, search.Span{Text: passage[at:h.start]})
		}
		spans = append(spans, search.Span{Text: passage[h.start:h.end], Hit: true})
		at = h.end
	}
	if at > 0 && at < len(passage) {
		spans = append(spans, search.Span{Text: passage[at:]})
	}
	return spans
}

// place is where a phrase stands in a passage, in bytes.
type place struct{ start, end int }

// hits lists the places of the phrases, of those that begin together the longest
// first.
func (m marker) hits(passage string) []place {
	if len(m.phrases) == 0 {
		return nil
	}
	words := text.NewSequence(text.Tokenize(passage))
	var hits []place
	for _, p := range m.phrases {
		for first, after := words.FindPhrase(p, 0); first >= 0; first, after = words.FindPhrase(p, first+1) {
			hits = append(hits, place{words.Words[first].Start, words.Words[after-1].End})
		}
	}
	slices.SortFunc(hits, func(a, b place) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	return hits
}
