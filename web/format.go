package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// functions are what the templates may call.
func functions(a *assets, zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"asset":     func(name string) string { return a.address[name] },
		"when":      func(t time.Time) string { return when(t, zone) },
		"clock":     clock,
		"iso":       func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"minutes":   minutes,
		"number":    number[int],
		"plural":    plural,
		"size":      bytesOf,
		"seconds":   func(d time.Duration) int64 { return int64(d / time.Second) },
		"search":    searchAddress,
		"field":     fieldTerm,
		"term":      func(field, value, title string) term { return term{field, value, title} },
		"actionsat": actionsAddress,
		"language":  languageName,
	}
}

// clock writes an offset as people say it: 4:05, 1:04:05.
func clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// minutes writes a length: 48 min, 1 h 5 min; nothing when it is unknown.
func minutes(d time.Duration) string {
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

// number groups digits with a narrow space.
func number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// plural joins a count and its noun: 1 meeting, 1 204 meetings.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// bytesOf writes a size in the unit a person would pick.
func bytesOf(n int64) string {
	const kilo = 1000
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	v, u := float64(n), 0
	for v >= kilo && u < len(units)-1 {
		v, u = v/kilo, u+1
	}
	if u == 0 || v >= 100 {
		return fmt.Sprintf("%.0f %s", v, units[u])
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

// dayName heads a day of the list: Today, Yesterday or the date.
func dayName(t, now time.Time) string {
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	switch {
	case sameDay(t, today):
		return "Today"
	case sameDay(t, today.AddDate(0, 0, -1)):
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

// term is a value that one can search for, with what is said of it on the side.
type term struct{ Field, Value, Title string }

// searchAddress is where a query's answer stands.
func searchAddress(query string) string {
	return "/?" + url.Values{"q": {query}}.Encode()
}

// fieldTerm writes a field of the query language, quoted where it must be.
func fieldTerm(field, value string) string {
	if value != "" && !strings.ContainsAny(value, " \t\"()':*~") && !strings.HasPrefix(value, "-") {
		return field + ":" + value
	}
	return field + `:"` + strings.ReplaceAll(value, `"`, " ") + `"`
}

// languageName is the English name of a language; its code when it has none.
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

// when writes a time to the minute in a zone; nothing for none.
func when(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("2 Jan 2006, 15:04")
}
