package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"minutebook/search/text"
)

// variant is a spelling under which a word of the query is looked for, and its
// weight: 1 for the word as typed and for the words of a prefix, less for other forms.
type variant struct {
	term   string
	weight float64
	fields fieldSet // where meetings have it
}

// fieldSet is a set of text fields.
type fieldSet uint16

const everyField = fieldSet(0xffff)

// has reports whether a text field is in the set.
func (s fieldSet) has(field string) bool {
	for i, f := range allTextFields() {
		if f == field {
			return s&(1<<i) != 0
		}
	}
	return false
}

// variantsIn lists the terms of the variants that a field has.
func variantsIn(variants []variant, field string) []string {
	terms := make([]string, 0, len(variants))
	for _, v := range variants {
		if v.fields.has(field) {
			terms = append(terms, v.term)
		}
	}
	return terms
}

// Bounds of the variants of one word.
const (
	maxVariants = 1024  // variants of a word
	maxScanned  = 20000 // terms of a field looked at to find them, in segments by their size
	minScanned  = 5000  // but at least so many in a segment: each has nearly all words of a language
)

// Weights of variants.
const (
	weightStem  = 0.75
	weightFuzzy = 0.5
)

// variantsOf returns the spellings of a word that the index has where it is looked for. The
// word itself comes first, whether or not the index has it. areAll is false where there may be
// others: only some terms were looked at, or only the most frequent of these are returned. Under
// a minus all of these are.
func (s *snapshot) variantsOf(t *queryTerm) (variants []variant, areAll bool, err error) {
	key := t.word
	variants = []variant{{key.term, 1, everyField}}
	var more []dictTerm
	isCut := false
	switch {
	case key.fuzzy:
		more, isCut, err = s.findNear(key.term)
	case key.isBeginning():
		more, isCut, err = mergeFields(t.scope.textFields(), func(field string) ([]dictTerm, bool, error) {
			return s.scanField(field, key.term, func(string) bool { return true })
		})
	default:
		more, isCut, err = s.findStems(key.term)
	}
	if err != nil {
		return nil, false, err
	}
	if more, err = s.onlyVisible(more, maxNamed-1); err != nil {
		return nil, false, err
	}
	if areAll = !isCut; len(more) > maxVariants && !t.negated {
		areAll = false
		slices.SortFunc(more, func(a, b dictTerm) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.term, b.term)) })
		more = more[:maxVariants]
	}
	slices.SortFunc(more, func(a, b dictTerm) int { return cmp.Compare(a.term, b.term) })
	for _, t := range more {
		if t.term != key.term {
			variants = append(variants, variant{t.term, t.weight, t.fields})
		}
	}
	return variants, areAll, nil
}

// onlyVisible leaves out terms that no visible meeting has, and counts the others' visible
// meetings, where there are more than places of them: a word of hidden meetings takes no place.
func (s *snapshot) onlyVisible(terms []dictTerm, places int) ([]dictTerm, error) {
	if s.seesAll || len(terms) <= places {
		return terms, nil
	}
	counts := make([][]int, len(s.segments))
	err := s.parallel(len(s.segments), func(i int) (err error) {
		counts[i] = make([]int, len(terms))
		m := s.segments[i]
		for j, t := range terms {
			for _, field := range allTextFields() {
				if !t.fields.has(field) {
					continue
				}
				n, err := m.terms.CountIn(field, t.term, m.visible)
				if err != nil {
					return err
				}
				counts[i][j] += n
			}
		}
		return nil
	})
	var kept []dictTerm
	for j, t := range terms {
		t.count = 0
		for i := range counts {
			t.count += uint64(counts[i][j]) //nolint:gosec // a number of meetings
		}
		if t.count > 0 {
			kept = append(kept, t)
		}
	}
	return kept, err
}

// dictTerm is a term of the index that was found for a word.
type dictTerm struct {
	term   string
	count  uint64 // documents that have it
	weight float64
	fields fieldSet
}

// stem is the beginning, or the root, that the forms of a word share in a language.
type stem struct {
	lang  *text.Language
	stem  string
	begin string // with which its words begin, unless the language drops beginnings
}

// isOf reports whether a word has the stem.
func (st stem) isOf(term string) bool {
	return strings.HasPrefix(term, st.begin) && endsInLetter(term) && st.lang.Stem(term) == st.stem
}

// stemsOf returns the stems of a word in the languages that the meetings are in and that it is no
// stop word of.
func (s *snapshot) stemsOf(word string) (stems []stem) {
	for _, lang := range s.langs {
		if !lang.HasStemmer() || lang.StopWords[word] && !lang.DropsPrefixes() {
			continue // a stop word is looked for as it is: very many terms begin like it
		}
		st := stem{lang: lang, stem: lang.Stem(word)}
		if !lang.DropsPrefixes() {
			st.begin = commonPrefix(st.stem, word)
			if r := []rune(st.begin); len(r) > 3 {
				st.begin = string(r[:len(r)-1])
			}
			if len([]rune(st.begin)) < 2 {
				continue
			}
		}
		stems = append(stems, st)
	}
	return stems
}

// findStems lists the terms that share a stem with the word.
func (s *snapshot) findStems(word string) (terms []dictTerm, isCut bool, err error) {
	found := map[string]dictTerm{}
	for _, st := range s.stemsOf(word) {
		if st.lang.DropsPrefixes() {
			found[text.StemTerm(st.stem)] = dictTerm{text.StemTerm(st.stem), 0, weightStem, everyField}
			found[st.stem] = dictTerm{st.stem, 0, weightStem, everyField}
			continue
		}
		more, cut, err := s.scanText(st.begin, st.isOf)
		if err != nil {
			return nil, false, err
		}
		isCut = isCut || cut
		for _, t := range more {
			t.weight = weightStem
			found[t.term] = t
		}
	}
	return slices.Collect(maps.Values(found)), isCut, nil
}

// endsInLetter tells a word from a number or code, which no stemmer changes.
func endsInLetter(term string) bool {
	r, _ := utf8.DecodeLastRuneInString(term)
	return unicode.IsLetter(r) || unicode.IsMark(r)
}

func commonPrefix(a, b string) string {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return string(x[:n])
}

// scanField lists the terms that meetings have in a field and that begin with a
// prefix, and whether there are terms that it did not look at. Meetings have all terms that
// moments have. It calls keep on several goroutines.
func (s *snapshot) scanField(field, prefix string, keep func(string) bool) (terms []dictTerm, isCut bool, err error) {
	total := int64(0)
	for _, m := range s.segments {
		total += m.seg.FullSize()
	}
	found, cut := make([][]dictTerm, len(s.segments)), make([]bool, len(s.segments))
	err = s.parallel(len(s.segments), func(i int) (err error) {
		most := max(minScanned, int(maxScanned*s.segments[i].seg.FullSize()/max(total, 1)))
		cut[i], err = s.segments[i].terms.Scan(field, prefix, most, s.among(i), func(term string) bool {
			return !text.IsStemTerm(term) && keep(term)
		}, func(term string, docs int) {
			found[i] = append(found[i], dictTerm{term: term, count: uint64(docs), weight: 1}) //nolint:gosec // a number of documents
		})
		return err
	})
	return mergeTerms(found), slices.Contains(cut, true), err
}

// scanText lists the terms of all text fields that begin with a prefix.
func (s *snapshot) scanText(prefix string, keep func(string) bool) (terms []dictTerm, isCut bool, err error) {
	return mergeFields(allTextFields(), func(field string) ([]dictTerm, bool, error) { return s.scanField(field, prefix, keep) })
}

// mergeFields puts the terms together that find returns for each of some text fields, and
// whether it was cut in one of them.
func mergeFields(fields []string, find func(field string) ([]dictTerm, bool, error)) (terms []dictTerm, isCut bool, err error) {
	var all [][]dictTerm
	for i, field := range allTextFields() {
		if !slices.Contains(fields, field) {
			continue
		}
		found, cut, err := find(field)
		if err != nil {
			return nil, false, err
		}
		isCut = isCut || cut
		for j := range found {
			found[j].fields = 1 << i
		}
		all = append(all, found)
	}
	return mergeTerms(all), isCut, nil
}

// mergeTerms makes one list of several, with each term once.
func mergeTerms(lists [][]dictTerm) (out []dictTerm) {
	at := map[string]int{}
	for _, list := range lists {
		for _, t := range list {
			n, ok := at[t.term]
			if !ok {
				at[t.term] = len(out)
				out = append(out, t)
				continue
			}
			out[n].count += t.count
			out[n].fields |= t.fields
		}
	}
	return out
}

// maxEdits is how many edits of a word are looked for.
func maxEdits(word string) int {
	if len([]rune(word)) > 5 {
		return 2
	}
	return 1
}

// findNear lists the terms of all text fields that are a few edits from a word.
func (s *snapshot) findNear(word string) (terms []dictTerm, isCut bool, err error) {
	edits := maxEdits(word)
	return mergeFields(allTextFields(), func(field string) ([]dictTerm, bool, error) {
		dict, err := s.meetings.FieldDictFuzzy(field, word, edits, "")
		if err != nil {
			return nil, false, fmt.Errorf("read search index: %w", err)
		}
		defer dict.Close()
		var out []dictTerm
		for range maxScanned {
			e, err := dict.Next()
			if err != nil {
				return nil, false, fmt.Errorf("read search index: %w", err)
			}
			if e == nil {
				return out, false, s.ctx.Err()
			}
			if !text.IsStemTerm(e.Term) { // which is no word of any text
				out = append(out, dictTerm{term: e.Term, count: e.Count, weight: weightFuzzy})
			}
		}
		return out, true, s.ctx.Err()
	})
}
