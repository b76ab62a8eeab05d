package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/archive"
	"minutebook/search/query"
	"minutebook/search/text"
)

// SuggestRequest asks how the text of a search box may go on.
type SuggestRequest struct {
	Text   string         // as typed so far
	Viewer archive.Viewer // suggestions come from this person's meetings alone

	SamePerson SamePersonFunc // as in [Request]
}

// Kinds of suggestions.
const (
	SuggestPerson  = "person"
	SuggestType    = "type"
	SuggestTeam    = "team"
	SuggestCompany = "domain"
	SuggestTitle   = "title"
	SuggestPhrase  = "phrase" // words that were said one after the other
	SuggestWord    = "word"
	SuggestField   = "field" // a field of the query language, or a value of one that has no kind above
)

// Suggestion is one way to go on. A title leads to its newest meeting; everything else is
// a query.
type Suggestion struct {
	Kind        string
	Text        string // for people
	Query       string // the whole query with it
	Count       int    // visible meetings that have it; 0 for titles, fields and their fixed values
	RecordingID int64  // of a title
	Start       time.Time
}

// How many suggestions of a kind there are.
const (
	maxPeople  = 4
	maxValues  = 2
	maxTitles  = 3
	maxPhrases = 5
)

// maxTyped is the length of the longest text that is read, in bytes.
const maxTyped = 400

// Suggest returns ways to go on with a text: people, types, teams, titles, words and phrases of
// meetings that the viewer sees, and fields. A text longer than maxTyped has none.
func (x *Index) Suggest(ctx context.Context, r SuggestRequest) (out []Suggestion, err error) {
	if len(r.Text) > maxTyped || strings.TrimSpace(r.Text) == "" {
		return nil, nil
	}
	err = x.ask(ctx, r.Viewer, func(s *snapshot) error {
		s.samePerson = r.SamePerson
		out, err = s.suggest(readTyped(r.Text))
		return err
	})
	return out, err
}

// typed is a text as it is being typed: its last words, and the text before them.
type typed struct {
	head   string // before the words, with a space at its end unless it is empty
	quoted bool   // the words stand after an open quotation mark
	field  string // the words are a value of this field
	words  []string
	last   string // the word that is being typed, folded; "" after a space
	raw    string // the words as they were typed
}

// quotes are the quotation marks of the query language.
const quotes = `"“”„«»‟`

// readTyped finds the words at the end of a text that belong together.
func readTyped(input string) typed {
	signs := hideQuotesInWords(input)
	if at := strings.LastIndexAny(signs, quotes); at >= 0 && strings.Count(strings.Map(plainQuote, signs), `"`)%2 == 1 {
		head, rest := input[:at], strings.TrimLeft(input[at:], quotes)
		t := typed{head: head, quoted: true}
		if run := head[strings.LastIndexAny(head, " \t(")+1:]; strings.HasSuffix(run, ":") {
			t.head, t.field, t.quoted = strings.TrimSuffix(head, run), strings.ToLower(strings.TrimSuffix(run, ":")), false
		}
		return t.withWords(rest)
	}
	at := max(0, strings.LastIndexAny(signs, quotes+"()"))
	if sign, size := utf8.DecodeRuneInString(signs[at:]); strings.ContainsRune(quotes+"()", sign) {
		at += size
	}
	runs := strings.SplitAfter(input[at:], " ")
	from := len(runs)
	for from > 0 {
		run := strings.TrimSpace(runs[from-1])
		if field, value, ok := strings.Cut(run, ":"); ok {
			if from == len(runs) && !strings.HasPrefix(run, "-") {
				return typed{head: input[:at] + strings.Join(runs[:from-1], ""), field: strings.ToLower(field)}.withWords(value)
			}
			break
		}
		if strings.HasPrefix(run, "-") || strings.HasSuffix(run, "*") || strings.HasSuffix(run, "~") || run == "OR" || run == "|" {
			break
		}
		from--
	}
	t := typed{head: input[:at] + strings.Join(runs[:from], "")}
	return t.withWords(strings.Join(runs[from:], ""))
}

// hideQuotesInWords puts other bytes in the places of quotation marks that belong to words.
func hideQuotesInWords(input string) string {
	out := []byte(input)
	isOpen := false
	for at, r := range input {
		switch {
		case !strings.ContainsRune(quotes, r):
		case query.IsQuoteInWord(input, at, isOpen):
			copy(out[at:at+utf8.RuneLen(r)], "___")
		default:
			isOpen = !isOpen
		}
	}
	return string(out)
}

func plainQuote(r rune) rune {
	if strings.ContainsRune(quotes, r) {
		return '"'
	}
	return r
}

// withWords cuts the words that belong together.
func (t typed) withWords(raw string) typed {
	t.raw = raw
	t.words = text.PhraseTerms(raw)
	if t.head != "" && !strings.HasSuffix(t.head, " ") && !strings.HasSuffix(t.head, "(") {
		t.head += " "
	}
	if n := len(t.words); n > 0 && !strings.HasSuffix(raw, " ") {
		t.words, t.last = t.words[:n-1], t.words[n-1]
	}
	return t
}

// suggest collects the suggestions of all kinds.
func (s *snapshot) suggest(t typed) ([]Suggestion, error) {
	if t.field != "" {
		return s.suggestValues(t)
	}
	var out []Suggestion
	for _, find := range []func(typed) ([]Suggestion, error){s.suggestPeople, s.suggestKinds, s.suggestTitles, s.suggestPhrases} {
		if t.quoted {
			find = s.suggestPhrases
		}
		found, err := find(t)
		if err != nil {
			return nil, err
		}
		if out = append(out, found...); t.quoted {
			break
		}
	}
	return append(out, suggestFields(t)...), nil
}

// suggestFields returns the fields of the query language that begin as the last word does.
func suggestFields(t typed) []Suggestion {
	var out []Suggestion
	for _, f := range query.Fields() {
		if len(t.words) == 0 && len(t.last) >= 2 && strings.HasPrefix(f.Name, t.last) && !t.quoted && len(out) < maxValues {
			out = append(out, Suggestion{Kind: SuggestField, Text: f.Name + ": " + f.Meaning, Query: t.head + f.Name + ":"})
		}
	}
	return out
}

// tail is the end of a typed text.
type tail struct {
	terms  string // with a space between them, and at the end after a space
	fields int    // words as typed, also signs, from which the terms come
}

// tails returns the last three words as typed, two, and one.
func (t typed) tails() (out []tail) {
	end := ""
	if t.last == "" {
		end = " "
	}
	var terms []string
	raw := strings.Fields(t.raw)
	for i := len(raw) - 1; i >= 0 && len(out) < 3; i-- {
		if more := text.PhraseTerms(raw[i]); len(more) > 0 {
			terms = append(more, terms...)
			out = append(out, tail{strings.Join(terms, " ") + end, len(raw) - i})
		}
	}
	slices.Reverse(out)
	return out
}

// before returns the text before the last n words as typed.
func (t typed) before(n int) string {
	fields := strings.Fields(t.raw)
	if n > len(fields) {
		n = len(fields)
	}
	kept := strings.Join(fields[:len(fields)-n], " ")
	if kept != "" {
		kept += " "
	}
	return t.head + kept
}

// filterQuery returns the query with a filter in place of the last n words.
func (t typed) filterQuery(n int, field, value string) string {
	return t.before(n) + (&query.Filter{Field: field, Value: value}).String() + " "
}

// suggestPeople finds people by how their name, or a word of it, begins.
func (s *snapshot) suggestPeople(t typed) ([]Suggestion, error) {
	var counts []int
	for _, tail := range t.tails() {
		named := s.x.columns.valuesWith(tail.terms)
		if len(named) == 0 {
			continue
		}
		if counts == nil {
			counts = s.countMany(multiPeople)
		}
		var out []Suggestion
		values, err := s.countPeople(s.rankValues(named, counts, maxPeople), keyPerson, s.visible())
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			out = append(out, Suggestion{Kind: SuggestPerson, Text: v.Value, Count: v.Count,
				Query: t.filterQuery(tail.fields, "person", v.Value)})
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

// withPrefix finds the visible meetings that have a word with a prefix in a field.
func (s *snapshot) withPrefix(field, prefix string) (meetingSet, error) {
	terms, err := s.termsWithPrefix(field, prefix)
	if err != nil {
		return nil, err
	}
	return s.withTerms(field, terms...)
}

// How many terms with the same next letter a segment counts for suggestions: of titles, and
// of phrases where no letter of the next word was typed. All others have maxSaidTerms.
const (
	maxCounted = 60
	maxGuessed = 8
)

// termsWithPrefix lists the most frequent terms of a field that begin with a prefix, at
// most maxVariants.
func (s *snapshot) termsWithPrefix(field, prefix string) ([]string, error) {
	counts, err := s.countPrefix(field, prefix, maxCounted)
	if err != nil {
		return nil, err
	}
	return mostFrequent(counts, maxVariants), nil
}

// termDocuments is a term and how many documents have it.
type termDocuments struct {
	term string
	docs int
}

// among returns the documents of a segment among which terms are looked for: the visible
// ones, so that the words of hidden meetings take no places, and nil for all.
func (s *snapshot) among(i int) *roaring.Bitmap {
	if s.seesAll {
		return nil
	}
	return s.segments[i].visible
}

// countPrefix counts the visible documents of the terms that begin with a prefix, of each
// next letter about so many, and returns them in the order of the terms.
func (s *snapshot) countPrefix(field, prefix string, most int) ([]termDocuments, error) {
	found := make([][]termDocuments, len(s.segments))
	err := s.parallel(len(s.segments), func(i int) error {
		return s.segments[i].terms.Terms(field, prefix, most, s.among(i), func(term string, docs int) {
			found[i] = append(found[i], termDocuments{term, docs})
		})
	})
	if err != nil {
		return nil, err
	}
	for len(found) > 1 {
		found = append(found[2:], addTerms(found[0], found[1]))
	}
	return slices.Concat(found...), nil
}

// addTerms puts two lists of terms together and adds the documents of equal terms up.
func addTerms(a, b []termDocuments) []termDocuments {
	out := make([]termDocuments, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0].term, b[0].term); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, termDocuments{a[0].term, a[0].docs + b[0].docs}), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// mostFrequent lists the terms that the most documents have, those first.
func mostFrequent(counts []termDocuments, most int) []string {
	before := func(a, b termDocuments) int { return cmp.Or(b.docs-a.docs, strings.Compare(a.term, b.term)) }
	var top []termDocuments
	for _, c := range counts {
		if len(top) == most && before(top[most-1], c) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, c, before)
		top = slices.Insert(top, at, c)
		top = top[:min(len(top), most)]
	}
	terms := make([]string, len(top))
	for i, c := range top {
		terms[i] = c.term
	}
	return terms
}
