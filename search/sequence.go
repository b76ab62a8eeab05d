package search

// words in their order, and the joined forms that stand over some of them.
type ordered struct {
	words  []tok
	wholes []over
	begins map[int][]over // wholes by where they begin
}

// over is a joined form that stands over words [first,after).
type over struct {
	term         string
	number       uint32
	first, after int
}

// sequence puts tokens in their order.
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
			s.whole(over{t.term, t.number, first, len(s.words)})
		}
	}
	return s
}

func (s *ordered) whole(w over) {
	if s.begins == nil {
		s.begins = map[int][]over{}
	}
	s.wholes = append(s.wholes, w)
	s.begins[w.first] = append(s.begins[w.first], w)
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
	for _, w := range s.begins[at] {
		if w.term == words[0] {
			if end := s.matchAt(words[1:], w.after); end >= 0 {
				return end
			}
		}
	}
	return -1
}
