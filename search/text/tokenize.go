package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is one word of a text: its folded form and its place, in bytes. A joined token
// is the form of words that punctuation ties together (abc123 for ABC-123, email for
// e-mail); it stands over its parts, which are tokens of their own, and takes no place
// in the sequence of words. Words that are tied together may have an empty term.
type Token struct {
	Term       string
	Start, End int
	Joined     bool
	begins     bool   // in a sequence: a joined form begins with this word
	Number     uint32 // in a vocabulary, where there is one
}

// Bounds of a word, so that no text makes terms of unbounded size.
const (
	maxTermBytes  = 64
	maxWholeParts = 12
)

// Tokenize cuts text into words, the same way for documents and queries.
// Letters and digits make words; scripts written without spaces make
// overlapping pairs of characters.
func Tokenize(text string) []Token { return appendTokens(make([]Token, 0, len(text)/5+1), text) }

// appendTokens appends the words of a text.
func appendTokens(to []Token, text string) []Token {
	t := tokenizer{in: text, out: to}
	for t.pos < len(t.in) {
		if c := t.in[t.pos]; c < utf8.RuneSelf && !isWordByte(c) { // as after most words
			t.pos++
			continue
		}
		if !t.readPlainWord() {
			t.readRun()
		}
	}
	return t.out
}

// readPlainWord reads a word of small letters from a to z that nothing is tied to, as most
// words are. Of another word it reads nothing and returns false.
func (t *tokenizer) readPlainWord() bool {
	end := t.pos
	for end < len(t.in) && t.in[end] >= 'a' && t.in[end] <= 'z' {
		end++
	}
	after := end
	if after < len(t.in) && isJoint(rune(t.in[after])) { // such as the full stop of a sentence
		after++
	}
	if after < len(t.in) && (t.in[after] >= utf8.RuneSelf || isWordByte(t.in[after])) || end-t.pos > maxTermBytes {
		return false
	}
	t.out = append(t.out, Token{Term: t.in[t.pos:end], Start: t.pos, End: end})
	t.pos = after
	return true
}

type runPart struct {
	start, end int
	joint      rune // ties it to the part before; 0 for the first
}

type tokenizer struct {
	in    string
	pos   int
	out   []Token
	parts []runPart
	fold  folder
}

// readRun reads words tied together, and emits them.
func (t *tokenizer) readRun() {
	r, size := t.runeAt(t.pos)
	switch {
	case IsUnspaced(r):
		t.emitUnspaced()
		return
	case !isWordRune(r):
		t.pos += size
		return
	}
	t.parts = t.parts[:0]
	joint := rune(0)
	for {
		start := t.pos
		t.skipWord()
		t.parts = append(t.parts, runPart{start: start, end: t.pos, joint: joint})
		r, size := t.runeAt(t.pos)
		if !isJoint(r) || t.pos+size >= len(t.in) {
			break
		}
		next, _ := t.runeAt(t.pos + size)
		if !isWordRune(next) || IsUnspaced(next) || r == ',' && !t.isBetweenDigits(size) {
			break
		}
		joint = r
		t.pos += size
	}
	t.emitRun()
}

// skipWord steps over letters, digits and their marks.
func (t *tokenizer) skipWord() {
	for t.pos < len(t.in) {
		if c := t.in[t.pos]; c < utf8.RuneSelf { // as most letters are
			if !isWordByte(c) {
				return
			}
			t.pos++
			continue
		}
		r, size := t.runeAt(t.pos)
		if !isWordRune(r) && !unicode.Is(unicode.M, r) || IsUnspaced(r) {
			return
		}
		t.pos += size
	}
}

func (t *tokenizer) runeAt(at int) (rune, int) {
	if at >= len(t.in) {
		return 0, 0
	}
	if c := t.in[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(t.in[at:])
}

func (t *tokenizer) isBetweenDigits(size int) bool {
	return t.pos > 0 && isDigit(t.in[t.pos-1]) && isDigit(t.in[t.pos+size])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// emitRun writes the parts of a run and, where they belong together, the joined form.
func (t *tokenizer) emitRun() {
	if len(t.parts) == 1 {
		t.add(t.parts[0].start, t.parts[0].end)
		return
	}
	first, last := t.parts[0], t.parts[len(t.parts)-1]
	if t.isNumber() {
		term := strings.ReplaceAll(t.in[first.start:last.end], ",", "")
		t.out = append(t.out, Token{Term: clipTerm(term), Start: first.start, End: last.end})
		return
	}
	if isApostrophe(last.joint) && (t.in[last.start:last.end] == "s" || t.in[last.start:last.end] == "S") {
		t.parts = t.parts[:len(t.parts)-1]
		t.emitRun()
		return
	}
	mark := len(t.out)
	from := 0
	for i := range t.parts {
		if !t.isElided(i) {
			p := t.parts[i]
			t.out = append(t.out, Token{Term: clipTerm(t.fold.fold(t.in[p.start:p.end])), Start: p.start, End: p.end})
		}
		if i+1 == len(t.parts) || t.parts[i+1].joint == '@' {
			if i > from && (from > 0 || i+1 < len(t.parts)) {
				t.emitJoined(from, i+1, true)
			}
			from = i + 1
		}
	}
	t.emitJoined(0, len(t.parts), len(t.out) > mark)
}

// emitJoined emits the joined form of parts [from,to). overlaps says that the parts are
// words too; it is false where all of them were elided.
func (t *tokenizer) emitJoined(from, to int, overlaps bool) {
	var joined strings.Builder
	for _, p := range t.parts[from:to] {
		joined.WriteString(t.fold.fold(t.in[p.start:p.end]))
	}
	if joined.Len() > maxTermBytes || to-from > maxWholeParts {
		return
	}
	t.out = append(t.out, Token{Term: joined.String(), Start: t.parts[from].start, End: t.parts[to-1].end, Joined: overlaps})
}

// isNumber reports whether the parts are one number: 1,000 or 3.5 or 10.0.0.1.
func (t *tokenizer) isNumber() bool {
	for _, p := range t.parts {
		if p.joint != 0 && p.joint != '.' && p.joint != ',' {
			return false
		}
		for i := p.start; i < p.end; i++ {
			if !isDigit(t.in[i]) {
				return false
			}
		}
	}
	return true
}

// isElided reports whether part i is no word of its own: an apostrophe cuts it off
// before (l'homme) or after (don't, we'll).
func (t *tokenizer) isElided(i int) bool {
	p := t.parts[i]
	if i+1 < len(t.parts) && isApostrophe(t.parts[i+1].joint) {
		rest := t.parts[i+1]
		return isElision(t.in[p.start:p.end]) || isContraction(t.in[rest.start:rest.end])
	}
	return isApostrophe(p.joint) && isContraction(t.in[p.start:p.end])
}

// isElision reports whether a word before an apostrophe is an elided one.
func isElision(s string) bool {
	switch strings.ToLower(s) {
	case "l", "d", "j", "m", "n", "s", "t", "c", "qu", "un", "gl", "dell", "nell", "all", "dall", "sull", "jusqu", "lorsqu", "puisqu", "quoiqu", "o":
		return true
	}
	return false
}

// isContraction reports whether a word after an apostrophe is an English ending.
func isContraction(s string) bool {
	switch strings.ToLower(s) {
	case "s", "t", "d", "m", "re", "ve", "ll":
		return true
	}
	return false
}

func (t *tokenizer) add(start, end int) {
	if term := t.fold.fold(t.in[start:end]); term != "" {
		t.out = append(t.out, Token{Term: clipTerm(term), Start: start, End: end})
	}
}

// emitUnspaced emits characters of a script without spaces as pairs, and the last
// character alone, so that a single character is found anywhere.
func (t *tokenizer) emitUnspaced() {
	prev, prevEnd, n := -1, 0, 0
	for t.pos < len(t.in) {
		r, size := t.runeAt(t.pos)
		if !IsUnspaced(r) {
			break
		}
		end := t.pos + size
		for next, size := t.runeAt(end); isPartOfCharacter(next); next, size = t.runeAt(end) {
			end += size
		}
		if prev >= 0 {
			t.add(prev, end)
		}
		prev, prevEnd = t.pos, end
		t.pos = end
		n++
	}
	mark := len(t.out)
	t.add(prev, prevEnd)
	if n > 1 && len(t.out) > mark {
		t.out[mark].Joined = true
	}
}

// isPartOfCharacter reports whether r makes one character with those before it where it is
// decomposed, as in the names of a Mac's files: a vowel or final of a Korean syllable, the
// sign of a voiced kana, or the choice of a variant.
func isPartOfCharacter(r rune) bool {
	return r >= 0x1160 && r <= 0x11ff || r == 0x3099 || r == 0x309a || r == 0xff9e || r == 0xff9f || isVariation(r)
}

func clipTerm(term string) string {
	if len(term) <= maxTermBytes {
		return term
	}
	cut := maxTermBytes
	for cut > 0 && !utf8.RuneStart(term[cut]) {
		cut--
	}
	return term[:cut]
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWordByte(byte(r))
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r)) && !isApostrophe(r)
}

// isJoint reports whether r ties two words together where it stands between them.
func isJoint(r rune) bool {
	switch r {
	case '-', '‐', '‑', '_', '.', '@', ',', '·':
		return true
	}
	return isApostrophe(r) || isUnseen(r)
}

// isApostrophe reports whether r is an apostrophe, or a sign that people write for one: quotation
// marks and accents, the letters of Ukrainian and Uzbek, the geresh of Hebrew.
func isApostrophe(r rune) bool {
	switch r {
	case '\'', '’', '‘', '´', '`', '＇', 'ʼ', 'ʻ', '׳', '՚':
		return true
	}
	return false
}

// isUnseen reports whether r is a sign within words that nobody sees or types, such as a soft
// hyphen. The one that parts the pieces of Persian words is none: some write a space there.
func isUnseen(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u200d', '\u2060', '\ufeff':
		return true
	}
	return false
}

// IsUnspaced reports whether r belongs to a script that is written without spaces
// between words.
func IsUnspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー' || r == 'ｰ'
}
