package search

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"minutebook/archive"
	"minutebook/search/text"
)

// hit is the place of a term in a text, in bytes.
type hit struct {
	start, end int
	term       int
}

// highlighter finds the terms of a query in a text.
type highlighter struct {
	terms   []*termMatch
	weights []float64        // of the terms
	words   map[string][]int // terms by their variants
	reach   int              // entries behind the one where it begins into which a phrase may run
}

func newHighlighter(terms []*termMatch, weights []float64) *highlighter {
	h := &highlighter{terms: terms, weights: weights, words: map[string][]int{}}
	for i, t := range terms {
		h.reach = max(h.reach, len(t.phrase)-1)
		for _, v := range t.variants {
			h.words[v.term] = append(h.words[v.term], i)
		}
	}
	return h
}

// find lists the hits in a text by where they begin, the longer first. They may overlap.
func (hl *highlighter) find(passage string, lang *text.Language) []hit {
	return hl.findIn(text.Tokenize(passage), lang)
}

// findIn is find, in the tokens of a text.
func (hl *highlighter) findIn(tokens []text.Token, lang *text.Language) []hit {
	var hits []hit
	for _, t := range tokens {
		for _, i := range hl.words[t.Term] {
			hits = append(hits, hit{t.Start, t.End, i})
		}
		for i, m := range hl.terms {
			if m.word.prefix && strings.HasPrefix(t.Term, m.word.term) {
				hits = append(hits, hit{t.Start, t.End, i})
			}
		}
		if lang != nil && lang.DropsPrefixes() {
			for _, i := range hl.words[text.StemTerm(lang.Stem(t.Term))] {
				hits = append(hits, hit{t.Start, t.End, i})
			}
		}
	}
	hits = append(hits, hl.findPhrases(tokens)...)
	sort.SliceStable(hits, func(i, j int) bool {
		if hits[i].start != hits[j].start {
			return hits[i].start < hits[j].start
		}
		return hits[i].end > hits[j].end
	})
	return hits
}

// findAcross finds phrases that begin in the first of some entries and run on into others, as
// far as they stand in the first; tokens returns those of an entry by its place.
func (hl *highlighter) findAcross(entries []archive.Entry, tokens func(at int) []text.Token) []hit {
	all, first := slices.Clip(tokens(0)), len(entries[0].Text)
	if !slices.ContainsFunc(hl.terms, func(t *termMatch) bool { return len(t.phrase) > 0 && text.HasTerm(all, t.phrase[0]) }) {
		return nil
	}
	size := first + 1 // with the space behind an entry
	for at, left := 1, hl.reach; at < len(entries) && left > 0; at++ {
		if next := tokens(at); len(next) > 0 { // a phrase runs over entries without words
			all = text.AppendAt(all, size, next)
			left--
		}
		size += len(entries[at].Text) + 1
	}
	var hits []hit
	for _, h := range hl.findPhrases(all) {
		if h.start < first {
			h.end = min(h.end, first)
			hits = append(hits, h)
		}
	}
	return hits
}

func (hl *highlighter) findPhrases(tokens []text.Token) []hit {
	var hits []hit
	var s text.Sequence
	for i, t := range hl.terms {
		if len(t.phrase) == 0 || !text.HasTerm(tokens, t.phrase[0]) || !text.HasTerm(tokens, t.phrase[len(t.phrase)-1]) {
			continue
		}
		if s.Words == nil {
			s = text.NewSequence(tokens)
		}
		for at := 0; ; {
			first, after := s.FindPhrase(t.phrase, at)
			if first < 0 {
				break
			}
			hits = append(hits, hit{s.Words[first].Start, s.Words[after-1].End, i})
			at = first + 1
		}
	}
	return hits
}

// score says how well hits answer the query: each term counts once, and a little
// more when it comes again.
func (hl *highlighter) score(hits []hit) float64 {
	seen := map[int]int{}
	total := 0.0
	for _, h := range hits {
		switch seen[h.term] {
		case 0:
			total += hl.weights[h.term]
		case 1, 2:
			total += hl.weights[h.term] * 0.1
		}
		seen[h.term]++
	}
	return total
}

// snippetBytes is about how long a snippet is.
const snippetBytes = 260

// snippet cuts the piece with the best hits out of a text and marks them.
func (hl *highlighter) snippet(text string, hits []hit) []Span {
	from, to := 0, len(text)
	if len(text) > snippetBytes+60 {
		from, to = hl.window(text, hits)
	}
	var out []Span
	if from > 0 {
		out = append(out, Span{Text: "… "})
	}
	at := from
	for _, h := range hits {
		if h.start < at || h.end > to {
			continue
		}
		if h.start > at {
			out = append(out, Span{Text: text[at:h.start]})
		}
		out = append(out, Span{Text: text[h.start:h.end], Hit: true})
		at = h.end
	}
	if at < to {
		out = append(out, Span{Text: text[at:to]})
	}
	if to < len(text) {
		out = append(out, Span{Text: " …"})
	}
	return out
}

// window chooses the piece of about snippetBytes with the best hits.
func (hl *highlighter) window(text string, hits []hit) (from, to int) {
	best, bestAt := -1.0, 0
	for i, h := range hits {
		j := i
		for j < len(hits) && hits[j].end <= h.start+snippetBytes*3/4 {
			j++
		}
		if s := hl.score(hits[i:j]); s > best {
			best, bestAt = s, h.start
		}
	}
	from = wordStart(text, max(0, bestAt-snippetBytes/5))
	to = wordStart(text, min(len(text), from+snippetBytes))
	if to <= from {
		to = len(text)
	}
	return from, to
}

// wordStart is the nearest place at or before at where a word begins, or at
// least a character.
func wordStart(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if at == 0 {
		return 0
	}
	if i := strings.LastIndexAny(text[:at], " \n\t"); i >= 0 && at-i < 40 {
		return i + 1
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
