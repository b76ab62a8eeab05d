package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"minutebook/internal/civil"
	"minutebook/search/query"
)

// markRelative keeps a template from taking the colon of ?t=1:23 for the end of a scheme: an
// address that begins with a question mark or a hash has none.
func markRelative(address string) any {
	if strings.HasPrefix(address, "?") || strings.HasPrefix(address, "#") {
		return template.URL(address)
	}
	return address
}

// templateFuncs are the functions of the templates. Every address in a template comes
// from path, asset or search, which put the base path before it.
func templateFuncs(a *assets, base basePath, zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"path":     func(address string) any { return markRelative(base.path(address)) },
		"asset":    func(name string) string { return base.path(a.address[name]) },
		"when":     func(t time.Time) string { return formatTime(t, zone) },
		"clock":    formatClock,
		"instant":  formatInstant,
		"state":    stateAt,
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"minutes":  formatMinutes,
		"number":   formatNumber[int],
		"plural":   formatCount,
		"size":     func(n int64) string { return humanize.Bytes(uint64(n)) },
		"seconds":  func(d time.Duration) int64 { return int64(d / time.Second) },
		"search":   func(query string) string { return base.path(searchAddress(query)) },
		"results":  resultsAddress,
		"field":    fieldTerm,
		"term":     func(field, value, title string) term { return term{field, value, title} },
		"language": languageName,
		"sentence": toSentence,
		"runjob":   func(account, job, label string) jobButton { return jobButton{account, job, label} },
		"remaining": func(seconds float64) string {
			return formatMinutes(time.Duration(seconds * float64(time.Second)))
		},
	}
}

// sentence returns an error as a sentence for a person.
func sentence(err error) string { return toSentence(err.Error()) }

// toSentence begins a text with a capital letter and ends it with a full stop.
func toSentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size > 0 {
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// formatClock writes an offset: 4:05, 1:04:05.
func formatClock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// formatInstant writes an offset with its milliseconds, where it has some: 4:05.5.
func formatInstant(d time.Duration) string {
	fraction := fmt.Sprintf(".%03d", max(d, 0)%time.Second/time.Millisecond)
	return formatClock(d) + strings.TrimRight(strings.TrimRight(fraction, "0"), ".")
}

// formatMinutes writes a length: 48 min, 1 h 5 min; "" when it is unknown.
func formatMinutes(d time.Duration) string {
	m := int64((d + 30*time.Second) / time.Minute)
	switch {
	case d <= 0:
		return ""
	case m < 1:
		return fmt.Sprintf("%d s", int64(d/time.Second))
	case m < 60:
		return fmt.Sprintf("%d min", m)
	case m%60 == 0:
		return fmt.Sprintf("%d h", m/60)
	}
	return fmt.Sprintf("%d h %d min", m/60, m%60)
}

// formatNumber groups digits with a narrow space.
func formatNumber[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// formatCount joins a count and its noun: 1 meeting, 1 204 meetings.
func formatCount(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return formatNumber(n) + " " + plural
}

// dayName returns the heading of a day in the list: Today, Yesterday, the date, or Undated for
// the zero time.
func dayName(t, now time.Time) string {
	y, m, d := now.Date()
	switch {
	case t.IsZero():
		return "Undated"
	case sameDay(t, now):
		return "Today"
	case sameDay(t, time.Date(y, m, d-1, 0, 0, 0, 0, time.UTC)):
		return "Yesterday"
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("Monday, 2 January 2006")
}

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.Date()
	by, bm, bd := b.Date()
	return ay == by && am == bm && ad == bd
}

// knownIn returns a meeting's start in a zone; zero where it is not known.
func knownIn(start time.Time, zone *time.Location) time.Time {
	if !civil.IsKnown(start) {
		return time.Time{}
	}
	return start.In(zone)
}

// term is a value to search for, with the title of its link.
type term struct{ Field, Value, Title string }

// searchAddress returns the address of a query's results.
func searchAddress(query string) string {
	return "/?" + url.Values{"q": {query}}.Encode()
}

// fieldTerm writes a field of the query language, quoted where it must be.
func fieldTerm(field, value string) string {
	return (&query.Filter{Field: field, Value: value}).String()
}

// languageName returns the English name of a language, or its code.
func languageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil || tag == language.Und {
		return code
	}
	if name := display.English.Tags().Name(tag); name != "" {
		return name
	}
	return code
}

// formatTime writes a time to the minute in a zone; "" for the zero time.
func formatTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("2 Jan 2006, 15:04")
}
