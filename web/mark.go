package web

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"minutebook/archive"
	"minutebook/search"
)

// marker finds what a search found in a text: the words and phrases that its
// moments show as hits, wherever they stand.
type marker struct{ forms []string } // in lower case, longest first

// newMarker collects the hits of an answer's moments.
func newMarker(moments []search.Moment) marker {
	seen := map[string]bool{}
	var m marker
	for _, moment := range moments {
		for _, span := range moment.Snippet {
			form := lowered(strings.TrimSpace(span.Text))
			if span.Hit && form != "" && !seen[form] {
				seen[form] = true
				m.forms = append(m.forms, form)
			}
		}
	}
	slices.SortFunc(m.forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	return m
}

// sparing is the marker without the words that so many lines have that marking
// them would only hide the others.
func (m marker) sparing(entries []archive.Entry) marker {
	var rare marker
	for _, form := range m.forms {
		one, lines := marker{[]string{form}}, 0
		for _, e := range entries {
			if one.spans(e.Text) != nil {
				lines++
			}
		}
		if lines <= 3 || lines*6 <= len(entries) {
			rare.forms = append(rare.forms, form)
		}
	}
	if len(rare.forms) == 0 {
		return m
	}
	return rare
}

// spans cuts a text into what is hit and what is not; nothing when nothing is.
func (m marker) spans(text string) []search.Span {
	if len(m.forms) == 0 {
		return nil
	}
	lower := lowered(text)
	var spans []search.Span
	from := 0
	for i := 0; i < len(lower); {
		n := 0
		if startsWord(lower, i) {
			n = m.at(lower, i)
		}
		if n == 0 {
			_, size := utf8.DecodeRuneInString(lower[i:])
			i += size
			continue
		}
		if from < i {
			spans = append(spans, search.Span{Text: text[from:i]})
		}
		spans = append(spans, search.Span{Text: text[i : i+n], Hit: true})
		i += n
		from = i
	}
	if from == 0 {
		return nil
	}
	if from < len(text) {
		spans = append(spans, search.Span{Text: text[from:]})
	}
	return spans
}

// lowered is a text in lower case, every letter in its old place: one whose
// lower case is of another length stays as it is.
func lowered(text string) string {
	return strings.Map(func(r rune) rune {
		if l := unicode.ToLower(r); utf8.RuneLen(l) == utf8.RuneLen(r) {
			return l
		}
		return r
	}, text)
}

// at is the length of the longest form that stands at i as whole words.
func (m marker) at(text string, i int) int {
	for _, form := range m.forms {
		if strings.HasPrefix(text[i:], form) && endsWord(text, i+len(form)) {
			return len(form)
		}
	}
	return 0
}

func startsWord(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	return i == 0 || !wordRune(before) || cjk(before)
}

func endsWord(text string, i int) bool {
	after, _ := utf8.DecodeRuneInString(text[i:])
	return i == len(text) || !wordRune(after) || cjk(after)
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// cjk tells letters that are written without spaces between words.
func cjk(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
