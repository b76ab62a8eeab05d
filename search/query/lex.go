package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	kindEnd kind = iota
	kindWord
	kindPhrase
	kindFilter
	kindMinus
	kindOr
	kindOpen
	kindClose
)

// token is one piece of a query; pos is the byte offset where it begins.
type token struct {
	kind  kind
	text  string // the word, the phrase without its quotes, the filter's value
	field string // of a filter, in lower case
	pos   int

	afterSign bool // a word that means nothing, such as "&", stands before it
}

// lexer cuts a query into tokens. It never fails: it passes over a sign without a meaning, or
// reads it as a word.
type lexer struct {
	in  string
	pos int
}

// tokenize cuts a query into tokens, of which the last is the end.
func tokenize(query string) []token {
	l := &lexer{in: query}
	var out []token
	for {
		t := l.next()
		if n := len(out); n > 0 && out[n-1].kind == kindMinus && t.kind != kindEnd && !l.standsBeside(out[n-1], t) {
			out = out[:n-1]
		}
		out = append(out, t)
		if t.kind == kindEnd {
			return out
		}
	}
}

func (l *lexer) next() token {
	afterSign := false
	for l.pos < len(l.in) {
		r, size := l.peek()
		at := l.pos
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError:
			l.pos += size
		case r == '(':
			l.pos += size
			return token{kind: kindOpen, pos: at}
		case r == ')':
			l.pos += size
			return token{kind: kindClose, pos: at}
		case isQuote(r):
			if text, ok := l.readQuoted(false); ok {
				return token{kind: kindPhrase, text: text, pos: at}
			}
		case r == '-' || r == '−':
			l.pos += size
			if l.minusBinds() {
				return token{kind: kindMinus, pos: at}
			}
		default:
			t, ok := l.readWord()
			if t.afterSign = afterSign; ok {
				return t
			}
			afterSign = true
		}
	}
	return token{kind: kindEnd, pos: len(l.in)}
}

func (l *lexer) peek() (rune, int) { return utf8.DecodeRuneInString(l.in[l.pos:]) }

// standsBeside reports whether a token follows a minus sign at once, or with nothing between
// but stray quotes. A minus before another stray sign means nothing.
func (l *lexer) standsBeside(minus, t token) bool {
	_, size := utf8.DecodeRuneInString(l.in[minus.pos:])
	return strings.TrimLeftFunc(l.in[minus.pos+size:t.pos], isQuote) == ""
}

// minusBinds reports whether something stands right after a minus sign; alone it means
// nothing.
func (l *lexer) minusBinds() bool {
	r, _ := l.peek()
	return l.pos < len(l.in) && !unicode.IsSpace(r) && r != ')' && r != '-' && r != '−'
}

// readQuoted reads a phrase or a field's value when the quote at the position is closed
// later, and otherwise steps over the stray quote. In a value a quote that stands twice is
// one of the value.
func (l *lexer) readQuoted(isValue bool) (string, bool) {
	_, size := l.peek()
	l.pos += size
	var text strings.Builder
	for rest := l.in[l.pos:]; ; {
		end := strings.IndexFunc(rest, isQuote)
		if end < 0 {
			return "", false
		}
		quote, size := utf8.DecodeRuneInString(rest[end:])
		text.WriteString(rest[:end])
		isInWord := isBetweenHebrew(l.in, len(l.in)-len(rest)+end)
		rest = rest[end+size:]
		if isInWord {
			text.WriteRune(quote)
			continue
		}
		if again, size := utf8.DecodeRuneInString(rest); isValue && again == quote {
			text.WriteRune(quote)
			rest = rest[size:]
			continue
		}
		l.pos = len(l.in) - len(rest)
		return cleanPhrase(text.String()), true
	}
}

// readWord reads a word, a filter, or the word OR.
func (l *lexer) readWord() (token, bool) {
	at := l.pos
	run := l.readRun()
	if field, value, ok := splitField(run); ok {
		t := token{kind: kindFilter, field: field, text: value, pos: at}
		if value == "" && l.pos < len(l.in) {
			if r, _ := l.peek(); isQuote(r) {
				var closed bool
				if t.text, closed = l.readQuoted(true); !closed {
					t.text = l.readRun()
				}
			}
		}
		return t, true
	}
	switch {
	case isOr(run):
		return token{kind: kindOr, text: run, pos: at}, true
	case run == "AND" || run == "&" || run == "&&" || run == "*" || run == "~":
		return token{}, false
	}
	return token{kind: kindWord, text: run, pos: at}, true
}

// isOr reports whether a run joins alternatives, where there are any.
func isOr(run string) bool { return run == "OR" || run == "|" || run == "||" }

// readRun reads up to the next space, parenthesis or quote.
func (l *lexer) readRun() string {
	at := l.pos
	for l.pos < len(l.in) {
		r, size := l.peek()
		if endsWord(r) && !IsQuoteInWord(l.in, l.pos, false) {
			break
		}
		l.pos += size
	}
	return l.in[at:l.pos]
}

// IsQuoteInWord reports whether a quotation mark stands at a place between two Hebrew letters,
// as in an acronym, and so is a part of the word. Where no phrase is open, one that opens a
// phrase is none.
func IsQuoteInWord(text string, at int, isOpen bool) bool {
	return isBetweenHebrew(text, at) && (isOpen || !opensPhrase(text, at))
}

func isBetweenHebrew(text string, at int) bool {
	quote, size := utf8.DecodeRuneInString(text[at:])
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+size:])
	return isQuote(quote) && unicode.Is(unicode.Hebrew, before) && unicode.Is(unicode.Hebrew, after)
}

// hebrewPrefixes are the letters that Hebrew writes in front of a word without a space.
const hebrewPrefixes = "ובכלמשה"

// opensPhrase reports whether a quotation mark between two Hebrew letters opens a phrase of
// several words, as in ב"ארץ נהדרת": only prefixes stand before it in its run, it is the last
// such mark before one that closes, and a space is between the two. Before the last letter of a
// run it is that of an acronym.
func opensPhrase(text string, at int) bool {
	if !followsPrefixes(text, at) {
		return false
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	for i, r := range text[at+size:] {
		switch place := at + size + i; {
		case !isQuote(r):
		case !isBetweenHebrew(text, place):
			return closes(text, place) && strings.ContainsFunc(text[at:place], unicode.IsSpace)
		case followsPrefixes(text, place):
			return false
		}
	}
	return false
}

// followsPrefixes reports whether a quotation mark may stand between prefixes and a quoted word
// of two letters or more.
func followsPrefixes(text string, at int) bool {
	_, size := utf8.DecodeRuneInString(text[at:])
	run := text[:at]
	if i := strings.LastIndexFunc(run, endsWord); i >= 0 {
		_, n := utf8.DecodeRuneInString(run[i:])
		run = run[i+n:]
	}
	letters := 0
	for _, r := range text[at+size:] {
		if unicode.Is(unicode.Hebrew, r) {
			letters++
		} else if !isQuote(r) {
			break
		}
	}
	return letters > 1 && strings.Trim(strings.TrimLeft(run, "-−"), hebrewPrefixes) == ""
}

// closes reports whether a quotation mark stands behind a word and before none.
func closes(text string, at int) bool {
	_, size := utf8.DecodeRuneInString(text[at:])
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+size:])
	return isOfWord(before) && !isOfWord(after)
}

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// splitField takes "name:value" apart when name could be a field's. Addresses
// of the web and times of the day are words.
func splitField(run string) (field, value string, ok bool) {
	name, value, found := strings.Cut(run, ":")
	if !found || len(name) < 2 || strings.HasPrefix(value, "/") {
		return "", "", false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' {
			return "", "", false
		}
	}
	return strings.ReplaceAll(strings.ToLower(name), "_", "-"), value, true
}

func endsWord(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == '(' || r == ')' || isQuote(r) || r == utf8.RuneError
}

func isQuote(r rune) bool {
	switch r {
	case '"', '“', '”', '„', '«', '»', '‟':
		return true
	}
	return false
}

// cleanPhrase makes one space of any run of spaces and control characters, so
// that a phrase prints as it parses.
func cleanPhrase(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError
	}), " ")
}
