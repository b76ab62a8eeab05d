package segment

import (
	"strings"

	"minutebook/search/text"
)

// Neighbouring words of a meeting are indexed as pairs, so that a phrase is
// found without word positions, in a fifth of their space: a phrase of two
// words is where its pair is. One of more words is where all its pairs are,
// and the search reads the text there.

// PairTerm is the term of two neighbours in a field. No word has a zero byte.
func PairTerm(field, a, b string) string { return string(appendPair(nil, field, a, b)) }

func appendPair(to []byte, field, a, b string) []byte {
	return append(append(append(append(to, field...), a...), 0), b...)
}

// AddPairs adds the pairs of numbered tokens. A joined form (email for e-mail) is a
// neighbour of the words before and after its parts. The character at an edge of a run without
// spaces is a neighbour of words of other scripts alone: within the script the run's pairs of
// characters follow one another.
func (b *Builder) AddPairs(field string, tokens []text.Token) {
	s := text.NewSequence(tokens)
	for i := 1; i < len(s.Words); i++ {
		b.addPair(field, s.Words[i-1].Number, s.Words[i].Number)
	}
	for _, w := range s.Joined {
		if w.Edge {
			b.addEdge(field, s, w)
			continue
		}
		if w.First > 0 {
			b.addPair(field, s.Words[w.First-1].Number, w.Number)
		}
		if w.After < len(s.Words) {
			b.addPair(field, w.Number, s.Words[w.After].Number)
		}
		for _, next := range s.JoinedAt(w.After) {
			b.addPair(field, w.Number, b.numberOf(next))
		}
	}
}

// addEdge adds the pairs of a character at the edge of a run.
func (b *Builder) addEdge(field string, s text.Sequence, w text.JoinedWord) {
	isOther := func(term string) bool { return !strings.ContainsFunc(term, text.IsUnspaced) }
	if w.First > 0 && isOther(s.Words[w.First-1].Term) {
		b.addPair(field, s.Words[w.First-1].Number, b.numberOf(w))
	}
	if w.After < len(s.Words) && isOther(s.Words[w.After].Term) {
		b.addPair(field, b.numberOf(w), s.Words[w.After].Number)
	}
	for _, next := range s.JoinedAt(w.After) {
		if isOther(next.Term) {
			b.addPair(field, b.numberOf(w), next.Number)
		}
	}
}

// numberOf returns the number of a joined word's term.
func (b *Builder) numberOf(w text.JoinedWord) uint32 {
	if w.Edge {
		return b.Words.Number(w.Term)
	}
	return w.Number
}
