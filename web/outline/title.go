package outline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// title returns the three words that set some lines apart most from the rest of the talk,
// as they are written there.
func (t *tiling) title(first, end int) string {
	type word struct {
		term, written string
		here          int
		score         float64
	}
	words := map[string]*word{}
	for i := first; i < end; i++ {
		for _, token := range t.of[i] {
			if w := words[token.Term]; w != nil {
				w.here++
			} else if written := t.lines[i].Text[token.Start:token.End]; isTelling(written) {
				words[token.Term] = &word{term: token.Term, written: written, here: 1}
			}
		}
	}
	var all []*word
	for _, w := range words {
		if w.score = float64(w.here) * t.weight[t.terms[w.term]]; w.here > 1 && w.score > 0 {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *word) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(a.term, b.term)
	})
	var names []string
	for _, w := range all[:min(3, len(all))] {
		names = append(names, w.written)
	}
	if len(names) == 0 {
		return "…"
	}
	runes := []rune(strings.Join(names, ", "))
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// isTelling reports whether a word may stand in a title: no number, and no short word of
// an alphabet.
func isTelling(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsLetter(r) && (r > 0x2e80 || utf8.RuneCountInString(word) > 3)
}
