package query

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEditing(t *testing.T) {
	parse := func(s string) *Query {
		q, err := Parse(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return q
	}
	for _, c := range []struct{ query, field, with, want string }{
		{"budget", "type", "Sales call", `budget type:"Sales call"`},
		{"budget type:A sort:date", "type", "B", "budget type:B sort:date"},
		{"type:A OR type:B", "type", "", ""},
		{"", "person", "Ann", "person:Ann"},
		{"budget (type:A OR team:B)", "type", "C", "budget type:A OR team:B type:C"},
		{"-type:A", "type", "B", "-type:A type:B"},
		{"x", "person", `Ann "Bo" Lee`, `x person:"Ann ""Bo"" Lee"`},
		{"x", "team", "«North»", "x team:\"««North»»\""},
		{"x", "type", "Sales\r\ncall", `x type:"Sales call"`},
		{"x", "type", "/x", `x type:"/x"`},
	} {
		if got := parse(c.query).With(c.field, c.with).String(); got != c.want {
			t.Errorf("%s with %s:%s is %s, want %s", c.query, c.field, c.with, got, c.want)
		}
	}
	if got := parse(`person:"Ann ""Bo"" Lee" "a""b"`); !slices.Equal(got.Values("person"), []string{`Ann "Bo" Lee`}) || len(got.Parts()) != 3 {
		t.Errorf("quotes in a value: %v", got)
	}
	q := parse("budget type:A OR type:B person:Ann last:7d")
	if got := q.Values("type"); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("values of type: %q", got)
	}
	if got := q.Without("type", "last").String(); got != "budget person:Ann" {
		t.Errorf("without type and last: %s", got)
	}
	if got := q.WithoutPart(0).String(); got != "type:A OR type:B person:Ann last:7d" {
		t.Errorf("without the first part: %s", got)
	}
	for _, c := range []struct {
		query, value, want string
		part               int
	}{
		{"speaker:anna OR speaker:bob speaker:carl", "anna", "speaker:bob speaker:carl", 0},
		{"speaker:carl speaker:anna OR speaker:bob OR speaker:carl x", "carl", "speaker:carl speaker:anna OR speaker:bob x", 1},
		{"type:A OR type:A x", "A", "x", 0},
		{"type:A", "A", "", 0},
		{"type:A type:B", "B", "type:A type:B", 0},
	} {
		if got := parse(c.query).WithoutValues(c.part, func(v string) bool { return v == c.value }).String(); got != c.want {
			t.Errorf("%s without %s is %s, want %s", c.query, c.value, got, c.want)
		}
	}
	if got := parse("x").With("in", "title", "summary").String(); got != "x in:title in:summary" {
		t.Errorf("two places: %s", got)
	}
}

// TestEditedQueriesParse edits any query: the text of the result parses to the same query.
func TestEditedQueriesParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, err := Parse(rapid.StringMatching(`( |word|OR|-|"a b"|type:|\(|\)|person:x|in:title|"|sort:date)*`).Draw(t, "query"))
		if err != nil {
			return
		}
		values := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "values")
		field := rapid.SampledFrom([]string{"type", "person", "team"}).Draw(t, "field")
		text := q.With(field, values...).String()
		again, err := Parse(text)
		if err != nil || again.String() != text {
			t.Fatalf("%q parses to %v, %v", text, again, err)
		}
	})
}
