package outline

import (
	"cmp"
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

// isFiller reports whether an English word is common in talk about anything, though it is
// no stop word of texts.
func isFiller(term string) bool {
	switch term {
	case "able", "actual", "actually", "agree", "again", "alright", "already", "also", "always", "anybody", "anyone", "anything", "anyway", "appreciate",
		"around", "away", "back", "basically", "been", "better", "bigger", "bring", "call", "called", "came", "care", "come", "comes", "coming", "couple",
		"course", "definitely", "different", "does", "doing", "done", "each", "easy", "eight", "else", "enough", "especially", "essentially", "even", "ever", "every",
		"everybody", "everyone", "everything", "exactly", "extra", "fact", "feel", "figure", "find", "fine", "first", "five", "folks", "forth", "forward",
		"four", "free", "full", "gave", "getting", "give", "given", "goes", "going", "gone", "gonna", "good", "gotta", "great", "guess", "guys", "half",
		"happen", "happened", "happens", "hard", "hear", "hello", "help", "here", "hope", "honestly", "hundred", "idea", "important", "interesting", "just",
		"keep", "kind", "knew", "know", "last", "later", "least", "leave", "less", "like", "literally", "little", "long", "look", "looking", "lots", "made", "make",
		"makes", "making", "many", "matter", "maybe", "mean", "means", "meant", "mention", "mentioned", "might", "mind", "minute", "minutes", "moment", "more", "most", "move",
		"much", "must", "myself", "need", "needed", "needs", "never", "next", "nice", "nine", "nothing", "obviously", "often", "okay", "once", "ones", "other",
		"others", "overall", "part", "past", "people", "perhaps", "person", "piece", "place", "please", "point", "possible", "pretty", "probably", "proper", "question",
		"quick", "quickly", "quite", "rather", "read", "real", "really", "reason", "remember", "right", "said", "same", "saying", "says", "scared", "second",
		"seem", "seems", "seen", "send", "sense", "seven", "several", "show", "sick", "simply", "single", "small", "some", "somebody", "someone", "something",
		"sometimes", "somewhere", "soon", "sorry", "sort", "sounds", "speak", "start", "started", "still", "stuff", "super", "sure", "take", "taken", "takes",
		"taking", "talk", "talked", "talking", "tell", "tend", "thank", "thanks", "thing", "things", "think", "thinking", "third", "though", "thought", "thousand",
		"three", "throw", "time", "times", "today", "together", "told", "tomorrow", "took", "towards", "true", "trying", "turn", "twenty", "understand", "upon", "used",
		"using", "usually", "waiting", "wanna", "want", "wanted", "wants", "welcome", "well", "went", "whatever", "whole", "will", "within", "without", "wonder",
		"word", "words", "work", "works", "would", "yeah", "year", "years", "yesterday", "zero":
		return true
	}
	return false
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
			if stem < 0 || !d.tells(stem) || isFiller(token.Term) {
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
