package outline

import (
	"strings"
	"time"
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
// question mark and have some words. Scripts without spaces are counted by characters.
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
			if len(strings.Fields(sentence)) >= minQuestion || len(sentence) >= 3*minQuestion && !strings.ContainsAny(sentence, " abcdefghijklmnopqrstuvwxyz") {
				all = append(all, Question{At: l.At, Line: i, Speaker: l.Speaker, Text: sentence})
			}
		}
	}
	return all
}

// firstRune returns the first character of a text.
func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}
