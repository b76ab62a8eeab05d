package search

import (
	"sort"
	"strings"
	"unicode/utf8"

	"minutebook/search/text"
)

// hit is where a leaf stands in a text, in bytes.
type hit struct {
	start, end int
	leaf       int
}

// matcher finds in a text what the query asked for.
type matcher struct {
	leaves []*leaf
	words  map[string][]int // leaves by the form of a word
	weight []float64        // of the leaves
}

func newMatcher(leaves []*leaf, weight []float64) *matcher {
	m := &matcher{leaves: leaves, words: map[string][]int{}, weight: weight}
	for i, l := range leaves {
		for _, f := range l.forms {
			m.words[f.term] = append(m.words[f.term], i)
		}
	}
	return m
}

// find lists the hits in a text, in order, none inside another.
func (m *matcher) find(passage string, lang *text.Language) []hit {
	tokens := text.Tokenize(passage)
	var hits []hit
	for _, t := range tokens {
		for _, i := range m.words[t.Term] {
			hits = append(hits, hit{t.Start, t.End, i})
		}
		for i, l := range m.leaves {
			if l.key.prefix && strings.HasPrefix(t.Term, l.key.term) {
				hits = append(hits, hit{t.Start, t.End, i})
			}
		}
		if lang != nil && lang.DropsPrefixes() {
			for _, i := range m.words[text.StemTerm(lang.Stem(t.Term))] {
				hits = append(hits, hit{t.Start, t.End, i})
			}
		}
	}
	hits = append(hits, m.phrases(tokens)...)
	sort.SliceStable(hits, func(i, j int) bool {
		if hits[i].start != hits[j].start {
			return hits[i].start < hits[j].start
		}
		return hits[i].end > hits[j].end
	})
	return hits
}

func (m *matcher) phrases(tokens []text.Token) []hit {
	var hits []hit
	var s text.Sequence
	for i, l := range m.leaves {
		if len(l.terms) == 0 {
			continue
		}
		if s.Words == nil {
			s = text.NewSequence(tokens)
		}
		for at := 0; ; {
			first, after := s.FindPhrase(l.terms, at)
			if first < 0 {
				break
			}
			hits = append(hits, hit{s.Words[first].Start, s.Words[after-1].End, i})
			at = first + 1
		}
	}
	return hits
}

// score says how well hits answer the query: each leaf counts once, and a
// little more when it comes again.
func (m *matcher) score(hits []hit) float64 {
	seen := map[int]int{}
	total := 0.0
	for _, h := range hits {
		switch seen[h.leaf] {
		case 0:
			total += m.weight[h.leaf]
		case 1, 2:
			total += m.weight[h.leaf] * 0.1
		}
		seen[h.leaf]++
	}
	return total
}

// snippetBytes is about how long a snippet is.
const snippetBytes = 260

// snippet cuts the stretch with the best hits out of a text and marks them.
func (m *matcher) snippet(text string, hits []hit) []Span {
	from, to := 0, len(text)
	if len(text) > snippetBytes+60 {
		from, to = m.window(text, hits)
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

// window chooses the stretch of about snippetBytes with the best hits.
func (m *matcher) window(text string, hits []hit) (from, to int) {
	best, bestAt := -1.0, 0
	for i, h := range hits {
		j := i
		for j < len(hits) && hits[j].end <= h.start+snippetBytes*3/4 {
			j++
		}
		if s := m.score(hits[i:j]); s > best {
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
