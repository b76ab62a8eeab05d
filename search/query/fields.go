package query

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/nearest"
)

// errNoWord is the mistake of a query, or of a value, without a word.
var errNoWord = errors.New("there is no letter or digit to look for")

// Field is one field of the query language.
type Field struct {
	Name    string
	Meaning string   // for people, one line
	Values  []string // the allowed values; none when they are free
	check   func(value string) error
}

// Fields lists the fields of the query language, for the page's panel, the
// documentation and error hints.
func Fields() []Field {
	return []Field{
		{Name: "speaker", Meaning: "said while this person speaks"},
		{Name: "person", Meaning: "meetings where this person spoke or was invited"},
		{Name: "recorded-by", Meaning: "recorded by this person (name or address)"},
		{Name: "email", Meaning: "meetings of this address"},
		{Name: "domain", Meaning: "meetings with somebody of this domain"},
		{Name: "team", Meaning: "recorded by somebody of this team"},
		{Name: "type", Meaning: "of this meeting type"},
		{Name: "title", Meaning: "this word or phrase in the title", check: checkWords},
		{Name: "language", Meaning: "spoken in this language, such as en"},
		{Name: "account", Meaning: "read through this account"},
		{Name: "id", Meaning: "the recording with this number", check: checkID},
		{Name: "after", Meaning: "on or after this day, month or year", check: checkDate},
		{Name: "before", Meaning: "before this day, month or year begins", check: checkDate},
		{Name: "on", Meaning: "on this day, in this month or year", check: checkDay},
		{Name: "last", Meaning: "within the last 12h, 7d, 2w, 3m or 1y", check: checkLast},
		{Name: "longer", Meaning: "longer than 30m or 1h30m", check: checkDuration},
		{Name: "shorter", Meaning: "shorter than 30m or 1h30m", check: checkDuration},
		{Name: "has", Meaning: "which holds this", Values: []string{"video", "audio", "transcript", "summary", "actions", "highlights", "crm"}},
		{Name: "is", Meaning: "of this kind", Values: []string{"external", "internal", "private", "gone"}},
		{Name: "in", Meaning: "look for the words only here", Values: []string{"transcript", "summary", "actions", "highlights", "title", "crm"}},
		{Name: "note", Meaning: "with a note of yours, or a shared one, that says this", check: checkWords},
		{Name: "action", Meaning: "with an action item in this state", Values: []string{"open", "done"}},
		{Name: "assignee", Meaning: "with an action item of this person"},
		{Name: "sort", Meaning: "order of the answer", Values: []string{SortDate, SortRelevance}},
	}
}

// readFilter checks a filter's field and value.
func readFilter(t token) (Node, error) {
	fields := Fields()
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == t.field })
	if i < 0 {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		return nil, &Error{Pos: t.pos, Message: fmt.Sprintf("there is no field %q", t.field), Hint: fieldHint(t, names)}
	}
	field, value := fields[i], strings.TrimSpace(t.text)
	at := t.pos + len(t.field) + 1
	if value == "" {
		return nil, &Error{Pos: t.pos, Message: fmt.Sprintf("no value follows %s:", field.Name), Hint: field.use()}
	}
	if len(field.Values) > 0 {
		value = strings.ToLower(value)
		if !slices.Contains(field.Values, value) {
			return nil, &Error{Pos: at, Message: fmt.Sprintf("%q is no value of %s:", value, field.Name), Hint: valueHint(value, field.Values)}
		}
	}
	if field.check != nil {
		if err := field.check(value); err != nil {
			return nil, &Error{Pos: at, Message: err.Error(), Hint: field.use()}
		}
	}
	return &Filter{Field: field.Name, Value: value, Pos: t.pos}, nil
}

// use says how a field is written, for people.
func (f Field) use() string {
	hint := fmt.Sprintf("write %s:… for “%s”", f.Name, f.Meaning)
	if len(f.Values) > 0 {
		hint += ". It knows " + strings.Join(f.Values, ", ")
	}
	return hint
}

func fieldHint(t token, names []string) string {
	suggestion := nearestValue(t.field, names)
	if t.text == "" {
		return fmt.Sprintf("did you mean %s:?", suggestion)
	}
	return fmt.Sprintf("did you mean %s:%s? To search for the text, put quotation marks round it", suggestion, t.text)
}

func valueHint(value string, values []string) string {
	return fmt.Sprintf("did you mean %s? It knows %s", nearestValue(value, values), strings.Join(values, ", "))
}

// nearestValue is the candidate with the fewest edits to s; the first of equals.
func nearestValue(s string, candidates []string) string {
	best, minimum := "", 1<<30
	for _, c := range candidates {
		d := nearest.Distance(s, c)
		if strings.HasPrefix(c, s) && s != "" {
			d = 0
		}
		if d < minimum {
			best, minimum = c, d
		}
	}
	return best
}

// checkWords refuses a value without a word.
func checkWords(value string) error {
	if !isSearchable(value) {
		return errNoWord
	}
	return nil
}

func checkID(value string) error {
	for _, r := range value {
		if r < '0' || r > '9' {
			return fmt.Errorf("%q is not a recording's number", value)
		}
	}
	if _, err := strconv.ParseInt(value, 10, 64); err != nil {
		return fmt.Errorf("%q is too long for a recording's number", value)
	}
	return nil
}

func checkDate(value string) error {
	_, err := DateStart(value, time.Unix(0, 0), time.UTC)
	return err
}

func checkDay(value string) error {
	_, _, err := DateSpan(value, time.Unix(0, 0), time.UTC)
	return err
}

func checkLast(value string) error {
	_, err := LastSpan(value, time.Unix(0, 0))
	return err
}

func checkDuration(value string) error {
	_, err := ParseDuration(value)
	return err
}
