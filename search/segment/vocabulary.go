package segment

import (
	"slices"
	"sync"

	"minutebook/search/text"
)

// Vocabulary numbers the terms of a batch, so that they are sorted and compared as
// numbers. One goroutine writes it; after the terms were sorted it does not change.
type Vocabulary struct {
	numbers map[string]uint32
	terms   []string

	once   sync.Once
	rank   []uint32 // of each term among all, in the order of their bytes
	sorted []string // terms by rank
}

// NewVocabulary returns an empty vocabulary.
func NewVocabulary() *Vocabulary { return &Vocabulary{numbers: map[string]uint32{}} }

// Number returns a term's number, a new one for a new term.
func (v *Vocabulary) Number(term string) uint32 {
	n, ok := v.numbers[term]
	if !ok {
		n = uint32(len(v.terms))
		v.numbers[term] = n
		v.terms = append(v.terms, term)
	}
	return n
}

// Term returns the term of a number.
func (v *Vocabulary) Term(number uint32) string { return v.terms[number] }

// Tokenize cuts a text into words and numbers them.
func (v *Vocabulary) Tokenize(passage string) []text.Token {
	tokens := text.Tokenize(passage)
	for i := range tokens {
		tokens[i].Number = v.Number(tokens[i].Term)
	}
	return tokens
}

// Numbers returns the numbers of terms.
func (v *Vocabulary) Numbers(terms []string) []uint32 {
	out := make([]uint32, len(terms))
	for i, t := range terms {
		out[i] = v.Number(t)
	}
	return out
}

// AppendWords appends the numbers of tokens, without the given words, and of their
// stems in a language whose stems must be indexed.
func (v *Vocabulary) AppendWords(to []uint32, tokens []text.Token, lang *text.Language, excluded map[string]bool) []uint32 {
	for _, t := range tokens {
		if t.Term == "" || excluded[t.Term] {
			continue
		}
		to = append(to, t.Number)
		if lang.DropsPrefixes() {
			if stem := lang.Stem(t.Term); stem != t.Term {
				to = append(to, v.Number(text.StemTerm(stem)))
			}
		}
	}
	return to
}

// sortTerms returns the rank of each term and the terms by rank.
func (v *Vocabulary) sortTerms() (rank []uint32, sorted []string) {
	v.once.Do(func() {
		by := make([]uint32, len(v.terms))
		for n := range by {
			by[n] = uint32(n)
		}
		slices.SortFunc(by, func(a, b uint32) int {
			if v.terms[a] < v.terms[b] {
				return -1
			}
			return 1
		})
		v.rank, v.sorted = make([]uint32, len(by)), make([]string, len(by))
		for rank, n := range by {
			v.rank[n], v.sorted[rank] = uint32(rank), v.terms[n]
		}
	})
	return v.rank, v.sorted
}
