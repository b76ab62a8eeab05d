package plaintoml

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// file is a file with a setting of each kind.
type file struct {
	Title string            `toml:"title"`
	Done  bool              `toml:"done"`
	Count int64             `toml:"count"`
	At    time.Time         `toml:"at"`
	Names []string          `toml:"names"`
	By    map[string]string `toml:"by"`
	Rows  []row             `toml:"rows"`
	Inner row               `toml:"inner"`
	Keep  span              `toml:"keep"`
}

// span is a duration.
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}

type row struct {
	Text string `toml:"text"`
}

// TestMistakesAreInWords makes every mistake that people make. No message has a word of
// Go or of the library, nor the value, which may be a secret.
func TestMistakesAreInWords(t *testing.T) {
	for text, want := range map[string]string{
		"keep = \"1y\"":                "keep: takes a duration such as",
		"keep = \"30\"":                "keep: takes a duration such as",
		"keep = \"digit\"":             "keep: takes a duration such as",
		"title = 5":                    "title: takes a text in quotes, not an integer",
		"title = true":                 "title: takes a text in quotes, not a boolean",
		"title = [\"a\"]":              "title: takes a text in quotes, not an array",
		"title = 2026-03-01":           "title: takes a text in quotes, not a local date",
		"title = Weekly":               "a text stands in quotes",
		"title = the weekly":           "a text stands in quotes",
		"title = \"Weekly":             "the closing quote is missing",
		"title = \"Weekly\ndone = 1":   "the closing quote is missing",
		"title = 'Weekly":              "the closing quote is missing",
		"title = \"\"\"Weekly":         "the closing quotes are missing",
		"title = \"C:\\new\\Users\"":   "a backslash in a text",
		"title = \"a\" \"b\"":          "something follows the value",
		"title = \"a\", \"b\"":         "something follows the value",
		"title = ":                     "the value is missing",
		"title":                        "the = is missing",
		"title \"x\"":                  "the = is missing",
		"title: \"x\"":                 "the = is missing",
		"= 5":                          "here should be the name of a setting",
		"title = \"a\"\ntitle = \"b\"": "it stands twice",
		"[inner]\n[inner]":             "it stands twice",
		"titel = \"x\"":                "unknown setting \"titel\"",
		"[inner]\ntitle = \"x\"":       "unknown setting \"inner.title\"",
		"done = 1":                     "done: takes true or false, not an integer",
		"done = yes":                   "a text stands in quotes",
		"count = 1.5":                  "count: takes a whole number, not a float",
		"count = 99999999999999999999": "the number is too large",
		"count = 007":                  "a number does not begin with 0",
		"count = 1.":                   "this is no number",
		"count = 0x":                   "this is no number",
		"count = 1e":                   "this is no number",
		"at = 10:00:00.":               "this is no",
		"title.x = 1":                  "",
		"count.x = 1":                  "",
		"[title]\nx = 1":               "",
		"[[title]]\nx = 1":             "",
		"[names.x]\ny = 1":             "",
		"names = { a = 1 }":            "names: takes a list of texts",
		"title = { a = 1 }":            "title: takes a text in quotes, not",
		"at = { a = 1 }":               "",
		"at = [\"x\"]":                 "",
		"title = 1979-13-45T99:99:99":  "",
		"at = 2026-02-30":              "this is no time",
		"at = 2026-03-01T25:00:00Z":    "this is no time",
		"at = 1.3.2026":                "something follows the value; a text stands in quotes",
		"names = \"Ben\"":              "names: takes a list of texts, not a string",
		"names = [\"Ben\"":             "of the list is missing",
		"names = [\"Ben\" \"Ada\"]":    "of the list is missing",
		"names = [1]":                  "names: takes a text in quotes, not an integer",
		"by = \"x\"":                   "by: takes a table, not a string",
		"by = { a = \"x\"":             "a comma or the closing }",
		"[by":                          "the closing bracket",
		"rows = \"x\"":                 "rows: takes tables in double brackets, not a string",
		"[[inner]]\ntext = \"x\"":      "inner: stands once",
		"[[rows]]\ntext = 5":           "rows.text: takes a text in quotes, not an integer",
		"title = \"\xff\"":             "it is not UTF-8",
		"\xff\xfet\x00i\x00":           "",
		"title = \"a\x01b\"":           "there is a character that cannot be seen",
	} {
		var f file
		err := Decode([]byte(text), &f)
		var mistakes Mistakes
		if !errors.As(err, &mistakes) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if m := mistakes[0]; !strings.Contains(m.Error(), want) || m.Line == 0 {
			t.Errorf("%q: line %d: %q, want %q", text, m.Line, m, want)
		}
		for _, word := range []string{"toml", "struct", "plaintoml", "U+", "expected", "literal", "basic string", "cannot decode", "cannot store", "must be followed", "must contain", "time.Time"} {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
				t.Errorf("%q: %q", text, err)
			}
		}
	}
}
