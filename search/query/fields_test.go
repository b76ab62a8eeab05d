package query

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFieldsAreDocumented compares the table of docs/search.md with the fields and their values.
func TestFieldsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `[a-z-]+:.*$").FindAllString(string(text), -1) {
		for _, field := range regexp.MustCompile("`([a-z-]+):").FindAllStringSubmatch(strings.SplitN(row, "|", 3)[1], -1) {
			rows[field[1]] = row
		}
	}
	for _, f := range Fields() {
		if rows[f.Name] == "" {
			t.Errorf("docs/search.md lacks %s:", f.Name)
		}
		for _, value := range f.Values {
			if !regexp.MustCompile("[`:]" + value + "`").MatchString(rows[f.Name]) {
				t.Errorf("docs/search.md lacks %s:%s", f.Name, value)
			}
		}
		delete(rows, f.Name)
	}
	for name := range rows {
		t.Errorf("docs/search.md has %s:, which is no field", name)
	}
}
