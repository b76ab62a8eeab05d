package search

import "minutebook/archive"

// Neighbouring words of a meeting are indexed as pairs, so that a phrase is
// found without word positions, in a fifth of their space: a phrase of two
// words is where its pair is. One of more words is where all its pairs are,
// and is looked for in the text there, see verify.go.

// pairTerm is the term of two neighbours in a field. No word has a zero byte.
func pairTerm(field, a, b string) string { return string(appendPair(nil, field, a, b)) }

func appendPair(to []byte, field, a, b string) []byte {
	return append(append(append(append(to, field...), a...), 0), b...)
}

// addPairs adds the pairs of numbered tokens. A joined form (email for e-mail)
// is a neighbour of what stands before and after its parts.
func (v *inverter) addPairs(field string, tokens []tok) {
	s := sequence(tokens)
	for i := 1; i < len(s.words); i++ {
		v.addPair(field, s.words[i-1].number, s.words[i].number)
	}
	for _, w := range s.wholes {
		if w.first > 0 {
			v.addPair(field, s.words[w.first-1].number, w.number)
		}
		if w.after < len(s.words) {
			v.addPair(field, w.number, s.words[w.after].number)
		}
		for _, next := range s.begins[w.after] {
			v.addPair(field, w.number, next.number)
		}
	}
}

// oneAfterAnother are the words of entries as of one text.
func oneAfterAnother(entries []archive.Entry, tokens [][]tok) []tok {
	n := 0
	for _, t := range tokens {
		n += len(t)
	}
	out := make([]tok, 0, n)
	shift := 0
	for i, e := range entries {
		for _, t := range tokens[i] {
			t.start, t.end = t.start+shift, t.end+shift
			out = append(out, t)
		}
		shift += len(e.Text) + 1
	}
	return out
}
