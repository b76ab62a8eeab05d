package segment

import (
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
// neighbour of the words before and after its parts.
func (b *Builder) AddPairs(field string, tokens []text.Token) {
	s := text.NewSequence(tokens)
	for i := 1; i < len(s.Words); i++ {
		b.addPair(field, s.Words[i-1].Number, s.Words[i].Number)
	}
	for _, w := range s.Joined {
		if w.First > 0 {
			b.addPair(field, s.Words[w.First-1].Number, w.Number)
		}
		if w.After < len(s.Words) {
			b.addPair(field, w.Number, s.Words[w.After].Number)
		}
		for _, next := range s.JoinedAt(w.After) {
			b.addPair(field, w.Number, next.Number)
		}
	}
}
