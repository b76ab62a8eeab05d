// Package plaintoml reads TOML into Go values, strictly, and names mistakes in the words of
// somebody who knows neither Go nor the library: the place, the setting, and the kind of
// value that belongs there. It quotes nothing of the file but names of settings, since a
// secret may stand in the lines around.
package plaintoml

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Mistake is a mistake at a place of a file.
type Mistake struct {
	Line, Column int    // 0: not known
	Key          string // of the setting, with dots; "" where it is not known
	Text         string // such as "takes a text in quotes, not an integer"
	Unknown      bool   // there is no setting Key, and Text says so
}

// Error returns the text, after the name of the setting.
func (m *Mistake) Error() string {
	if m.Key == "" || m.Unknown {
		return m.Text
	}
	return m.Key + ": " + m.Text
}

// Mistakes are the mistakes of a file: all unknown settings, or the first other one.
type Mistakes []*Mistake

// Error names the first of them.
func (m Mistakes) Error() string { return m[0].Error() }

// Decode reads TOML into a value. It fails with [Mistakes].
func Decode(raw []byte, into any) error {
	err := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields().Decode(into)
	if err == nil {
		return nil
	}
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		var all Mistakes
		for i := range unknown.Errors {
			m := &Mistake{Key: strings.Join(unknown.Errors[i].Key(), "."), Unknown: true}
			m.Line, m.Column = unknown.Errors[i].Position()
			m.Text = fmt.Sprintf("unknown setting %q", m.Key)
			all = append(all, m)
		}
		return all
	}
	m := &Mistake{Text: describe(strings.TrimPrefix(err.Error(), "toml: "))}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		m.Line, m.Column = bad.Position()
		m.Key = strings.Join(bad.Key(), ".")
	}
	return Mistakes{m}
}

// wrongType matches the library's message about a value of another type.
var wrongType = regexp.MustCompile(`^cannot decode TOML (.+) into (?:struct field \S+ of type )?(\S+)$`)

// inWords are the library's messages, by a part of each, and the words for them.
var inWords = []struct{ part, words string }{
	{"cannot store an array table", "stands once: write its name in single brackets"},
	{"cannot store a table", "is no table"},
	{"strings must be quoted", "a text stands in quotes"},
	{"at start of value", "a text stands in quotes"},
	{"expected keyword", "a text stands in quotes"},
	{"cannot have new lines", "the closing quote is missing"},
	{"unterminated", "the closing quote is missing"},
	{"not terminated by", "the closing quotes are missing"},
	{"too many quotes", "there are too many quotes"},
	{"escape", `a backslash in a text is written \\, or the text stands in 'single quotes'`},
	{`need a character after \`, `a backslash in a text is written \\, or the text stands in 'single quotes'`},
	{"after array value", "a comma or the closing ] of the list is missing"},
	{"array is incomplete", "the closing ] of the list is missing"},
	{"are nested", "brackets stand too deep in one another"},
	{"inline table", "a comma or the closing } is missing, or too much"},
	{"table name", "the closing bracket of the table's name is missing"},
	{"expected '=' after key", "a setting is written NAME = VALUE; the = is missing"},
	{"expected value", "the value is missing"},
	{"start of key", "here should be the name of a setting"},
	{"expected key", "here should be the name of a setting"},
	{"expected newline", "something follows the value; a text stands in quotes, and each setting on a line of its own"},
	{"is already defined", "it stands twice"},
	{"already exists", "it stands twice"},
	{"invalid UTF-8", "it is not UTF-8"},
	{"control characters", "there is a character that cannot be seen; write the line again"},
	{"carriage return", "there is a character that cannot be seen; write the line again"},
	{"too large to fit", "the number is too large"},
	{"cannot be stored in", "the number is too large, or negative"},
	{"leading zeroes", "a number does not begin with 0"},
	{"digit", "this is no number; a text stands in quotes"},
	{"number", "this is no number; a text stands in quotes"},
}

// timeWords are in messages about dates and times.
var timeWords = regexp.MustCompile(`date|time|hour|minute|second`)

// wrongDuration matches Go's message about a text that is no duration.
var wrongDuration = regexp.MustCompile(`(invalid|in) duration "`)

// describe says a message of the library in words.
func describe(text string) string {
	if found := wrongType.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("takes %s, not %s", DescribeType(found[2]), withArticle(found[1]))
	}
	if wrongDuration.MatchString(text) {
		return "takes " + DescribeType(".Duration")
	}
	for _, w := range inWords {
		if strings.Contains(text, w.part) {
			return w.words
		}
	}
	if timeWords.MatchString(text) {
		return "this is no time such as 2026-03-01T10:00:00+01:00"
	}
	return "this line is not understood; a setting is written NAME = VALUE, and a text stands in quotes"
}

// DescribeType names a Go type in the words of a file.
func DescribeType(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]") && strings.Contains(goType, "."):
		return "tables in double brackets"
	case strings.HasPrefix(goType, "[]"):
		return "a list of texts"
	case strings.HasSuffix(goType, ".Duration"):
		return `a duration such as "720h"`
	case strings.Contains(goType, ".") || strings.HasPrefix(goType, "map["):
		return "a table"
	case goType == "string":
		return "a text in quotes"
	case goType == "bool":
		return "true or false"
	}
	return "a whole number"
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
