package search

import "hash/fnv"

// Neighbouring words are indexed as 18-bit hashes, so that a phrase is found
// without word positions, in a third of their space. Two different pairs share
// a hash now and then, so what is found so is checked against the text, see
// verify.go.

// pairBits is the length of the hashes: longer ones cost space, since short
// lists of documents are kept badly; shorter ones find more that is not there.
const pairBits = 18

// pairTerm is the term of two neighbours in a field.
func pairTerm(field, a, b string) string {
	h := fnv.New32a()
	h.Write([]byte(a))
	h.Write([]byte{0})
	h.Write([]byte(b))
	sum := mix(h.Sum32()) & (1<<pairBits - 1)
	return field + string([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// mix spreads the hash's bits.
func mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// addPairs adds the pairs of a text. A joined form (email for e-mail) is a
// neighbour of what stands before and after its parts.
func addPairs(set map[string]bool, field string, tokens []tok) {
	s := sequence(tokens)
	for i := range s.words {
		if i+1 < len(s.words) {
			set[pairTerm(field, s.words[i].term, s.words[i+1].term)] = true
		}
	}
	for _, w := range s.wholes {
		if w.first > 0 {
			set[pairTerm(field, s.words[w.first-1].term, w.term)] = true
		}
		if w.after < len(s.words) {
			set[pairTerm(field, w.term, s.words[w.after].term)] = true
		}
	}
}

// words in their order, and the joined forms that stand over some of them.
type ordered struct {
	words  []tok
	wholes []over
}

// over is a joined form that stands over words [first,after).
type over struct {
	term         string
	first, after int
}

func sequence(tokens []tok) ordered {
	s := ordered{words: make([]tok, 0, len(tokens))}
	for _, t := range tokens {
		if !t.whole {
			s.words = append(s.words, t)
			continue
		}
		first := len(s.words)
		for first > 0 && s.words[first-1].start >= t.start {
			first--
		}
		if first < len(s.words) {
			s.wholes = append(s.wholes, over{t.term, first, len(s.words)})
		}
	}
	return s
}

// findPhrase returns the index of the first word in s from which on the words
// follow one another, and the one after their end; -1 when nowhere.
func (s ordered) findPhrase(words []string, from int) (first, after int) {
	for i := from; i < len(s.words); i++ {
		if end := s.matchAt(words, i); end >= 0 {
			return i, end
		}
	}
	return -1, -1
}

func (s ordered) matchAt(words []string, at int) int {
	if len(words) == 0 {
		return at
	}
	if at >= len(s.words) {
		return -1
	}
	if s.words[at].term == words[0] {
		if end := s.matchAt(words[1:], at+1); end >= 0 {
			return end
		}
	}
	for _, w := range s.wholes {
		if w.first == at && w.term == words[0] && w.after > at {
			if end := s.matchAt(words[1:], w.after); end >= 0 {
				return end
			}
		}
	}
	return -1
}
