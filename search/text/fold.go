package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folder makes of every spelling of a word the one it is indexed by: lower
// case, compatibility forms made plain, accents of Latin, Greek, Cyrillic, Hebrew and Arabic
// letters left off. It reuses one buffer.
type folder struct{ buf []byte }

func (f *folder) fold(s string) string {
	ascii, lower := true, true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
		if s[i] >= 'A' && s[i] <= 'Z' {
			lower = false
		}
	}
	switch {
	case ascii && lower:
		return s
	case ascii:
		f.buf = f.buf[:0]
		for i := 0; i < len(s); i++ {
			c := s[i]
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			f.buf = append(f.buf, c)
		}
		return string(f.buf)
	}
	return FoldWord(s)
}

// FoldWord folds one word, in whatever script.
func FoldWord(s string) string {
	var b strings.Builder
	base := rune(0)
	for _, r := range norm.NFKD.String(strings.ToLower(s)) {
		if isVariation(r) || isAccent(r) && !keepsAccent(base, r) {
			continue
		}
		if !unicode.Is(unicode.M, r) {
			base = r
		}
		if letters, ok := spelledOut(r); ok {
			b.WriteString(letters)
			continue
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return norm.NFC.String(b.String())
}

// isAccent reports whether r is a mark that people leave off when they type.
func isAccent(r rune) bool {
	return r >= 0x0300 && r <= 0x036f || r >= 0x064b && r <= 0x0655 || r == 0x0670 || r == 0x0640 || r >= 0x0591 && r <= 0x05c7
}

// isVariation reports whether r chooses one of several pictures of the character before it, as
// in Japanese names and in numbers that are an emoji.
func isVariation(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r == 0x20e3
}

// keepsAccent reports whether an accent makes another letter of base: й is not и. The marks of
// voiced kana, which do that too, are no accents for isAccent.
func keepsAccent(base, mark rune) bool { return base == 'и' && mark == 0x0306 }

// spelledOut returns the plain letters for one that Unicode does not take apart.
func spelledOut(r rune) (string, bool) {
	switch r {
	case 'ß':
		return "ss", true
	case 'æ':
		return "ae", true
	case 'œ':
		return "oe", true
	case 'ø':
		return "o", true
	case 'ł':
		return "l", true
	case 'đ', 'ð':
		return "d", true
	case 'þ':
		return "th", true
	case 'ı':
		return "i", true
	case 'ς':
		return "σ", true
	}
	return "", false
}

// Fold folds a whole value, such as a name or a type: its words with one space between
// them. A control character parts words as a space does, since no query can hold one. Apostrophes
// are one, hyphens too, as people type them.
func Fold(s string) string {
	var f folder
	words := strings.FieldsFunc(strings.Map(plainJoint, s), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError })
	for i, w := range words {
		words[i] = f.fold(w)
	}
	return strings.Join(words, " ")
}

// plainJoint returns the sign of the keyboard for a sign that ties words together, and -1 for one
// that nobody sees.
func plainJoint(r rune) rune {
	switch {
	case isApostrophe(r):
		return '\''
	case r == '‐' || r == '‑':
		return '-'
	case isUnseen(r):
		return -1
	}
	return r
}
