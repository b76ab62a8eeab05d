package outline

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// titleWord is a word that may stand in a title.
type titleWord struct {
	stem    int
	written string // as it is written most often, within a sentence if it is there
	forms   map[string]int
	here    int
	score   float64
}

// minInside is the least share of a word's occurrences that must lie in a chapter for the
// word to stand in the chapter's title.
const minInside = 0.3

// fillerWords are English words that are common in talk about anything, though they are no
// stop words of texts. A word that is not among them costs no more than a weaker title.
//
//go:embed filler_en.txt
var fillerWords string

// listFillers returns the filler words as a set.
func listFillers() map[string]bool {
	fillers := map[string]bool{}
	for word := range strings.FieldsSeq(fillerWords) {
		fillers[word] = true
	}
	return fillers
}

// title returns up to three words that set some lines apart most from the rest of the
// talk, as they are written there.
func (d *division) title(first, end int) string {
	var all []*titleWord
	for _, w := range d.titleWords(first, end) {
		inside := float64(w.here) / float64(d.said[w.stem])
		if w.here < 3 || inside < minInside {
			continue
		}
		for form, n := range w.forms {
			if most := w.forms[w.written]; n > most || n == most && form < w.written {
				w.written = form
			}
		}
		w.score = float64(w.here) * inside * inside * math.Log(float64(len(d.blocks))/float64(d.in[w.stem]))
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *titleWord) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.written, b.written))
	})
	var names []string
	for _, w := range all[:min(3, len(all))] {
		names = append(names, w.written)
	}
	if len(names) == 0 {
		return d.opening(first, end)
	}
	runes := []rune(strings.Join(names, ", "))
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// titleWords returns the words of some lines that tell subjects apart, by their stems.
func (d *division) titleWords(first, end int) map[int]*titleWord {
	words := map[int]*titleWord{}
	for i := first; i < end; i++ {
		for _, token := range d.tokens[i] {
			stem := d.number(token.Term)
			if stem < 0 || !d.tells(stem) || d.fillers[token.Term] {
				continue
			}
			w := words[stem]
			if w == nil {
				w = &titleWord{stem: stem, forms: map[string]int{}}
				words[stem] = w
			}
			w.here++
			form := d.lines[i].Text[token.Start:token.End]
			if beginsSentence(d.lines[i].Text, token.Start) {
				form = strings.ToLower(form) // its capital says nothing
			}
			w.forms[form]++
		}
	}
	return words
}

// opening returns the first words of some lines.
func (d *division) opening(first, end int) string {
	for _, l := range d.lines[first:end] {
		if runes := []rune(strings.TrimSpace(l.Text)); len(runes) > maxTitle/2 {
			return string(runes[:maxTitle/2-1]) + "…"
		} else if len(runes) > 0 {
			return string(runes)
		}
	}
	return "…"
}

// beginsSentence reports whether a word at an offset is the first of a sentence.
func beginsSentence(line string, at int) bool {
	before := strings.TrimRight(line[:at], " \t\"'“”‘’(")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:")
}

// isTelling reports whether a word may tell subjects apart: no number, and no short word
// of an alphabet.
func isTelling(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsLetter(r) && (r > 0x2e80 || utf8.RuneCountInString(word) > 3)
}
