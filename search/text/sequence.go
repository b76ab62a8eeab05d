package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sequence is the words of a text in their order, and the joined forms over some of
// them: also the first and the last character of a run without spaces, over the run's first
// and last pair, so that 5月 is found in 5月に. Those of which folding leaves nothing, such as
// a lengthening sign alone, are not in it.
type Sequence struct {
	Words    []Token
	Joined   []JoinedWord
	joinedAt map[int][]JoinedWord // by First
}

// JoinedWord is a joined form that stands for the words [First,After).
type JoinedWord struct {
	Term         string
	Number       uint32 // in a vocabulary; not of an Edge, which may lack one
	First, After int
	Edge         bool // the first or last character of a run
}

// NewSequence puts the tokens of a text in their order.
func NewSequence(tokens []Token) Sequence {
	s := Sequence{Words: make([]Token, 0, len(tokens))}
	s.add(tokens)
	return s
}

// Read makes s the words of a text, in the memory of the words that it had.
func (s *Sequence) Read(text string) {
	tokens := appendTokens(slices.Grow(s.Words[:0], len(text)/5+1), text)
	s.Words, s.Joined = tokens[:0], s.Joined[:0]
	clear(s.joinedAt)
	s.add(tokens) // no word comes after its token
}

func (s *Sequence) add(tokens []Token) {
	for _, t := range tokens {
		if t.Term == "" {
			continue
		}
		if !t.Joined {
			s.Words = append(s.Words, t)
			s.addFirstCharacter()
			continue
		}
		first := len(s.Words)
		for first > 0 && s.Words[first-1].End > t.Start {
			first--
		}
		if first < len(s.Words) {
			begin, _ := utf8.DecodeRuneInString(t.Term)
			s.addJoined(JoinedWord{t.Term, t.Number, first, len(s.Words), IsUnspaced(begin)})
		}
	}
}

// addFirstCharacter adds the first character of the last word, where that is the first pair
// of a run without spaces.
func (s *Sequence) addFirstCharacter() {
	n := len(s.Words) - 1
	w := s.Words[n]
	if w.Term[0] < utf8.RuneSelf || n > 0 && s.Words[n-1].End > w.Start {
		return
	}
	if first, size := utf8.DecodeRuneInString(w.Term); IsUnspaced(first) && size < len(w.Term) {
		s.addJoined(JoinedWord{Term: w.Term[:size], First: n, After: n + 1, Edge: true})
	}
}

// IsUnspacedCharacter reports whether a term is one character of a script without spaces. It
// is found as the beginning of pairs, and beside another script at the edges of a run.
func IsUnspacedCharacter(term string) bool {
	r, size := utf8.DecodeRuneInString(term)
	return size == len(term) && IsUnspaced(r)
}

// HasTerm reports whether a term of a phrase is among tokens, or may be at the edge of one.
func HasTerm(tokens []Token, term string) bool {
	return IsUnspacedCharacter(term) || slices.ContainsFunc(tokens, func(t Token) bool { return isMeant(t.Term, term) })
}

// AppendAt appends the tokens of a text that begins at a byte of a longer one.
func AppendAt(tokens []Token, at int, more []Token) []Token {
	for _, t := range more {
		t.Start, t.End = t.Start+at, t.End+at
		tokens = append(tokens, t)
	}
	return tokens
}

func (s *Sequence) addJoined(w JoinedWord) {
	if s.joinedAt == nil {
		s.joinedAt = map[int][]JoinedWord{}
	}
	s.Joined = append(s.Joined, w)
	s.joinedAt[w.First] = append(s.joinedAt[w.First], w)
	s.Words[w.First].begins = true
}

// FindPhrase returns the index of the first word, at from or later, from which on the
// phrase's words follow one another, and the index after their last; -1 when there is
// none. With a star behind it the last one is the beginning of a word.
func (s Sequence) FindPhrase(words []string, from int) (first, after int) {
	for i := from; i < len(s.Words); i++ {
		if end := s.matchAt(words, i); end >= 0 {
			return i, end
		}
	}
	return -1, -1
}

// matchAt returns the index after the words, when they follow one another from at on,
// or -1.
func (s Sequence) matchAt(words []string, at int) int {
	if len(words) == 0 {
		return at
	}
	if at >= len(s.Words) {
		return -1
	}
	if isMeant(s.Words[at].Term, words[0]) {
		if end := s.matchAt(words[1:], at+1); end >= 0 {
			return end
		}
	}
	for _, w := range s.JoinedAt(at) {
		if isMeant(w.Term, words[0]) {
			if end := s.matchAt(words[1:], w.After); end >= 0 {
				return end
			}
		}
	}
	return -1
}

// isMeant reports whether a term is the one that is looked for, or begins like it with a star
// behind it. No term of a text has a star.
func isMeant(term, wanted string) bool {
	begin, isBeginning := strings.CutSuffix(wanted, "*")
	return term == wanted || isBeginning && strings.HasPrefix(term, begin)
}

// PhraseTerms returns the terms to look for a phrase by, for [Sequence.FindPhrase].
// Words that punctuation ties together are one term, in their joined form.
func PhraseTerms(phrase string) []string {
	var terms []string
	s := NewSequence(Tokenize(phrase))
	for i := 0; i < len(s.Words); {
		term, next := s.Words[i].Term, i+1
		for _, w := range s.JoinedAt(i) {
			if !w.Edge {
				term, next = w.Term, w.After
			}
		}
		terms = append(terms, term)
		i = next
	}
	return terms
}

// IsUnspacedWord reports whether words without a space between them have characters of a
// script that needs none. Their terms overlap, so that pairs of terms tell nearly for certain
// where they are.
func IsUnspacedWord(words string) bool {
	return strings.ContainsFunc(words, IsUnspaced) && !strings.ContainsFunc(strings.TrimSpace(words), unicode.IsSpace)
}

// JoinedAt returns the joined words that begin at a word.
func (s Sequence) JoinedAt(word int) []JoinedWord {
	if word >= len(s.Words) || !s.Words[word].begins {
		return nil
	}
	return s.joinedAt[word]
}
