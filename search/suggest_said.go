package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"minutebook/search/query"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// suggestTitles finds meetings whose title has all words that were typed, the last one as
// it begins: the newest of each title.
func (s *snapshot) suggestTitles(t typed) ([]Suggestion, error) {
	if t.head != "" || len([]rune(t.last)) < 2 && len(t.words) == 0 {
		return nil, nil
	}
	set := s.visible()
	for _, w := range t.words {
		with, err := s.withTerms(segment.FieldTitle, w)
		if err != nil {
			return nil, err
		}
		set.and(with)
	}
	if t.last != "" {
		with, err := s.withPrefix(segment.FieldTitle, t.last)
		if err != nil {
			return nil, err
		}
		set.and(with)
	}
	const read = 4 * maxTitles // several meetings have the same title
	var ids []int64
	for _, r := range s.topMeetings(set, nil, read, nil) {
		ids = append(ids, r.id)
	}
	rows, err := s.x.archive.Rows(s.ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the titles found: %w", err)
	}
	shown, err := s.stillShown(ids)
	if err != nil {
		return nil, fmt.Errorf("ask who sees the titles found: %w", err)
	}
	var out []Suggestion
	seen := map[string]bool{"": true}
	for _, id := range ids {
		row := rows[id]
		if row == nil || !shown[id] || seen[row.Title] || len(out) == maxTitles {
			continue
		}
		seen[row.Title] = true
		out = append(out, Suggestion{Kind: SuggestTitle, Text: row.Title, RecordingID: id, Start: row.Key().Start,
			Query: (&query.Filter{Field: "title", Value: strings.TrimRight(row.Title, "* ")}).String()}) // a star would make a beginning of its last word
	}
	return out, nil
}

// minWord is how many letters of a single word must be typed before words are suggested
// that begin so.
const minWord = 3

// maxSaidTerms is how many terms with the same next letter a segment counts, and how many of
// the most frequent of all are looked for in visible meetings.
const maxSaidTerms = 24

// suggestPhrases finds how the typed words go on in the transcripts: the rest of the last
// word, and the word after it.
func (s *snapshot) suggestPhrases(t typed) ([]Suggestion, error) {
	var found []saidTerms
	var err error
	switch words := t.words; {
	case len(words) > 0:
		if found, err = s.continuations(words, t.last); err != nil {
			return nil, err
		}
		if len(found) == 0 && len(words) > 1 {
			found, err = s.continuations(words[len(words)-1:], t.last)
		}
	case len([]rune(t.last)) >= minWord:
		found, err = s.wordsAndPhrases(t.last)
	}
	if err != nil {
		return nil, err
	}
	var out []Suggestion
	for _, f := range found[:min(len(found), maxPhrases)] {
		if said, ok := t.suggestSaid(f); ok {
			out = append(out, said)
		}
	}
	return out, nil
}

// saidTerms are words that follow one another in so many visible meetings.
type saidTerms struct {
	words []string
	count int
}

// suggestSaid makes a suggestion of words that were said, the last ones of which were
// typed; ok is false where these begin within a word as typed, whose rest would be lost.
func (t typed) suggestSaid(f saidTerms) (out Suggestion, ok bool) {
	said := joinTerms(f.words)
	typed := min(len(f.words), len(t.words)+1)
	if t.last == "" { // the words before the new one
		typed = len(f.words) - 1
	}
	fields, isWhole := t.countFields(typed)
	out = Suggestion{Kind: SuggestPhrase, Text: said, Count: f.count, Query: t.before(fields) + `"` + said + `" `}
	if len(f.words) == 1 {
		out.Kind, out.Query = SuggestWord, t.before(fields)+said+" "
	}
	return out, isWhole
}

// countFields returns how many of the words as typed the last terms are; isWhole is false where
// the first of them begins within such a word, as in a script without spaces.
func (t typed) countFields(terms int) (fields int, isWhole bool) {
	raw := strings.Fields(t.raw)
	for ; terms > 0 && fields < len(raw); fields++ {
		terms -= len(text.PhraseTerms(raw[len(raw)-1-fields]))
	}
	return fields, terms == 0
}

// joinTerms returns terms as a text. In a script without spaces the last character of a term is
// the first of the next.
func joinTerms(terms []string) string {
	said := terms[0]
	for _, term := range terms[1:] {
		first, size := utf8.DecodeRuneInString(term)
		if last, _ := utf8.DecodeLastRuneInString(said); last == first && text.IsUnspaced(first) && size < len(term) {
			said += term[size:]
			continue
		}
		said += " " + term
	}
	return said
}

// wordsAndPhrases finds words that begin so and, for the first of them, how it goes on.
func (s *snapshot) wordsAndPhrases(prefix string) ([]saidTerms, error) {
	counts, err := s.countPrefix(segment.FieldText, prefix, maxSaidTerms)
	if err != nil {
		return nil, err
	}
	var words []saidTerms
	for _, term := range mostFrequent(counts, maxSaidTerms) {
		words = append(words, saidTerms{words: []string{term}})
	}
	words, err = s.orderByCount(words, segment.FieldText, "", s.visible())
	if err != nil || len(words) == 0 {
		return nil, err
	}
	first := words[0].words
	phrases, err := s.continuations(first, "")
	words = words[:min(len(words), maxPhrases-min(len(phrases), maxPhrases/2))]
	return append(words, phrases...), err
}

// continuations finds the words that follow the given ones, all in this order in the same
// meetings, and begin with a prefix.
func (s *snapshot) continuations(words []string, prefix string) ([]saidTerms, error) {
	if s.format < 2 {
		return nil, nil
	}
	last, most := words[len(words)-1], maxSaidTerms
	if prefix == "" {
		if most = maxGuessed; s.isStopWord(last) {
			return nil, nil // too much follows it
		}
	}
	pair := segment.PairTerm(segment.FieldText, last, "")
	counts, err := s.countPrefix(segment.FieldPairs, pair+prefix, most)
	if err != nil {
		return nil, err
	}
	counts = slices.DeleteFunc(counts, func(c termDocuments) bool {
		next := c.term[len(pair):]
		return next != prefix && s.isStopWord(next) || next == "" || text.IsUnspacedCharacter(next) // as at the edges of runs
	})
	among, err := s.withPairs(segment.FieldText, words)
	if err != nil {
		return nil, err
	}
	var found []saidTerms
	for _, term := range mostFrequent(counts, maxSaidTerms) {
		found = append(found, saidTerms{words: append(append([]string{}, words...), term[len(pair):])})
	}
	return s.orderByCount(found, segment.FieldPairs, pair, among)
}

// orderByCount counts the meetings of a set that have the last word of each, behind a prefix, as
// a term of a field, and orders all by it; those that no meeting has are left out.
func (s *snapshot) orderByCount(all []saidTerms, field, prefix string, set meetingSet) ([]saidTerms, error) {
	counts := make([][]int, len(s.segments))
	err := s.parallel(len(s.segments), func(i int) (err error) {
		counts[i] = make([]int, len(all))
		for j, f := range all {
			if counts[i][j], err = s.segments[i].terms.CountIn(field, prefix+f.words[len(f.words)-1], set[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for j, f := range all {
		for i := range counts {
			f.count += counts[i][j]
		}
		if f.count > 0 {
			kept = append(kept, f)
		}
	}
	slices.SortStableFunc(kept, func(a, b saidTerms) int { return b.count - a.count })
	return kept, nil
}
