package search

import (
	"fmt"
	"sort"
	"strings"

	index "github.com/blevesearch/bleve_index_api"

	"minutebook/search/text"
)

// form is a spelling under which a word of the query is looked for, and how
// much it counts: the word as typed 1, its other forms less.
type form struct {
	term   string
	weight float64
	in     fieldSet // where meetings have it
}

// fieldSet is a set of text fields.
type fieldSet uint16

const everyField = fieldSet(0xffff)

// has says whether a text field is in the set.
func (s fieldSet) has(field string) bool {
	for i, f := range textFields() {
		if f == field {
			return s&(1<<i) != 0
		}
	}
	return false
}

// termsIn are the forms that a field has.
func termsIn(forms []form, field string) []string {
	terms := make([]string, 0, len(forms))
	for _, f := range forms {
		if f.in.has(field) {
			terms = append(terms, f.term)
		}
	}
	return terms
}

type formKey struct {
	field  string
	term   string
	prefix bool
	fuzzy  bool
}

// Bounds of what one word may stand for.
const (
	maxForms   = 1024  // forms of a word
	maxScanned = 20000 // terms looked at to find them
)

// Weights of forms.
const (
	weightStem  = 0.75
	weightFuzzy = 0.5
)

// formsOf returns the spellings of a word that the index has in text. The word
// itself comes first, whether or not the index has it.
func (v *view) formsOf(key formKey) ([]form, error) {
	if known, ok := v.forms[key]; ok {
		return known, nil
	}
	forms := []form{{key.term, 1, everyField}}
	var more []scanned
	var err error
	switch {
	case key.fuzzy:
		more, err = v.near(key)
	case key.prefix || singlePacked(key.term):
		more, err = v.scanText(key.term, func(string) bool { return true })
	default:
		more, err = v.stems(key)
	}
	if err != nil {
		return nil, err
	}
	if len(more) > maxForms {
		sort.SliceStable(more, func(i, j int) bool { return more[i].count > more[j].count })
		more = more[:maxForms]
	}
	sort.Slice(more, func(i, j int) bool { return more[i].term < more[j].term })
	for _, s := range more {
		if s.term != key.term {
			forms = append(forms, form{s.term, s.weight, s.in})
		}
	}
	v.forms[key] = forms
	return forms, nil
}

func singlePacked(term string) bool {
	r := []rune(term)
	return len(r) == 1 && text.IsUnspaced(r[0])
}

// scanned is a term of the index found for a word.
type scanned struct {
	term   string
	count  uint64
	weight float64
	in     fieldSet
}

// stems finds the terms that share a stem with the word, in any language that
// the viewer's meetings are in.
func (v *view) stems(key formKey) ([]scanned, error) {
	found := map[string]scanned{}
	for _, lang := range v.langs {
		if !lang.HasStemmer() {
			continue
		}
		stem := lang.Stem(key.term)
		if lang.DropsPrefixes() {
			found[text.StemTerm(stem)] = scanned{text.StemTerm(stem), 0, weightStem, everyField}
			found[stem] = scanned{stem, 0, weightStem, everyField}
			continue
		}
		begin := commonPrefix(stem, key.term)
		if r := []rune(begin); len(r) > 3 {
			begin = string(r[:len(r)-1])
		}
		if len([]rune(begin)) < 2 {
			continue
		}
		more, err := v.scanText(begin, func(term string) bool { return lang.Stem(term) == stem })
		if err != nil {
			return nil, err
		}
		for _, s := range more {
			s.weight = weightStem
			found[s.term] = s
		}
	}
	out := make([]scanned, 0, len(found))
	for _, s := range found {
		out = append(out, s)
	}
	return out, nil
}

func commonPrefix(a, b string) string {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return string(x[:n])
}

// scan lists the terms that meetings have in a field and that begin with a
// prefix. Everything that moments hold meetings hold too.
func (v *view) scan(field, prefix string, keep func(string) bool) ([]scanned, error) {
	dict, err := v.meetings.FieldDictPrefix(field, []byte(prefix))
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	defer dict.Close()
	return v.collect(dict, func(e *index.DictEntry) (float64, bool) {
		return 1, !strings.HasPrefix(e.Term, "\x01") && keep(e.Term)
	})
}

// scanText lists the terms of all text fields that begin with a prefix.
func (v *view) scanText(prefix string, keep func(string) bool) ([]scanned, error) {
	return eachText(func(field string) ([]scanned, error) { return v.scan(field, prefix, keep) })
}

// eachText puts together what find finds in each of the text fields.
func eachText(find func(field string) ([]scanned, error)) ([]scanned, error) {
	var out []scanned
	at := map[string]int{}
	for i, field := range textFields() {
		found, err := find(field)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			n, ok := at[s.term]
			if !ok {
				n = len(out)
				at[s.term] = n
				out = append(out, scanned{term: s.term, weight: s.weight})
			}
			out[n].count += s.count
			out[n].in |= 1 << i
		}
	}
	return out, nil
}

// near lists the terms of all text fields that are a few edits from a word.
func (v *view) near(key formKey) ([]scanned, error) {
	distance := 1
	if len([]rune(key.term)) > 5 {
		distance = 2
	}
	return eachText(func(field string) ([]scanned, error) {
		dict, err := v.meetings.FieldDictFuzzy(field, key.term, distance, "")
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		defer dict.Close()
		return v.collect(dict, func(e *index.DictEntry) (float64, bool) { return weightFuzzy, true })
	})
}

func (v *view) collect(dict index.FieldDict, keep func(*index.DictEntry) (float64, bool)) ([]scanned, error) {
	var out []scanned
	for range maxScanned {
		e, err := dict.Next()
		if err != nil {
			return nil, fmt.Errorf("read search index: %w", err)
		}
		if e == nil {
			return out, v.ctx.Err()
		}
		if weight, ok := keep(e); ok {
			out = append(out, scanned{term: e.Term, count: e.Count, weight: weight})
		}
	}
	return out, nil
}
