package outline

import (
	"strings"
	"time"
	"unicode"
)

// Question is a question that was asked.
type Question struct {
	At            time.Duration
	Line          int
	Speaker, Text string
}

// minQuestion is the number of words from which a question is one, and not a "right?".
const minQuestion = 4

// Questions returns the questions of a talk, in its order: the sentences that end with a
// question mark and have some words.
func Questions(lines []Line) (all []Question) {
	for i, l := range lines {
		for rest := l.Text; ; {
			end := strings.IndexAny(rest, "?？؟")
			if end < 0 {
				break
			}
			mark := len("?")
			if rest[end] != '?' {
				mark = len("？")
				if strings.HasPrefix(rest[end:], "؟") {
					mark = len("؟")
				}
			}
			sentence := rest[:end+mark]
			rest = rest[end+mark:]
			if begin := strings.LastIndexAny(sentence[:end], ".!。！\n"); begin >= 0 {
				_, sentence, _ = strings.Cut(sentence[begin:], firstRune(sentence[begin:]))
			}
			sentence = strings.TrimSpace(sentence)
			if len(strings.Fields(sentence)) >= minQuestion || countUnspaced(sentence) >= minQuestion {
				all = append(all, Question{At: l.At, Line: i, Speaker: l.Speaker, Text: sentence})
			}
		}
	}
	return all
}

// countUnspaced counts about as many words as a text has in scripts without spaces: a character
// of Chinese or Japanese is one, and so are three letters of Thai, Lao, Khmer or Burmese.
func countUnspaced(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			n += 3
		case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			n++
		}
	}
	return n / 3
}

// firstRune returns the first character of a text.
func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}
