package sample

import (
	"fmt"
	"strconv"
	"strings"
)

// script is one meeting as written in meetings/*.txt:
//
//	title: Battery drain, first look        a header, one "key: value" a line
//	type: Engineering Sync
//	when: -181 09:30                        days before the base date, and the time (UTC)
//	minutes: 24                             length of the recording
//	shared: single_team                     shared_with
//	recorder: HS                            a key; or a person who is external
//	who: HS WZ AB                           invited, by key (directory.go)
//	with: RK = Ralf Kühn <rk@x.example>     invited from outside, any number of lines
//	guest: JT = Jo Tamm                     speaks without having been invited
//	---
//	HS: Words that somebody says.           an entry
//	* Wen Zhao | Do this                    an action item of the entry above; *x is completed, *u a person's own
//	^ Decision | The decision               a highlight of the entry above
//	~ 40                                    seconds in which nobody speaks
//	=== Template name
//	The summary, in Markdown, to the end.
//
// Other headers: language (en), calendar (meeting_title, when it differs from the
// title), link (meeting_url), contact, company and deal (CRM matches, parts divided
// by "|"), crm (its error). Blank lines and lines with # are passed over.
type script struct {
	slug    string
	head    map[string][]string
	entries []line
	summary string
	style   string // the summary's template
}

// line is one entry with its action items and highlights. pause is the silence
// before it, in seconds.
type line struct {
	key, text  string
	pause      int
	actions    []action
	highlights []highlight
}

type action struct {
	assignee, text  string
	completed, user bool
}

type highlight struct{ kind, summary string }

// parseScript reads one script. An error names the line.
func parseScript(slug, text string) (*script, error) {
	s := &script{slug: slug, head: map[string][]string{}}
	front, rest, ok := strings.Cut(text, "\n---\n")
	if !ok {
		return nil, fmt.Errorf("read script %s: no line with --- after the header", slug)
	}
	body, summary, ok := strings.Cut(rest, "\n=== ")
	if !ok {
		return nil, fmt.Errorf("read script %s: no line with === before the summary", slug)
	}
	s.style, s.summary, _ = strings.Cut(summary, "\n")
	s.summary = strings.TrimSpace(s.summary)
	for n, l := range strings.Split(front, "\n") {
		if l == "" || l[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(l, ": ")
		if !ok {
			return nil, fmt.Errorf("read script %s: line %d: want key: value", slug, n+1)
		}
		s.head[key] = append(s.head[key], value)
	}
	pause, first := 0, strings.Count(front, "\n")+3
	for n, l := range strings.Split(body, "\n") {
		if err := s.readLine(l, &pause); err != nil {
			return nil, fmt.Errorf("read script %s: line %d: %w", slug, first+n, err)
		}
	}
	return s, nil
}

// readLine reads one line after the header.
func (s *script) readLine(l string, pause *int) error {
	if l == "" || l[0] == '#' {
		return nil
	}
	mark, rest, ok := strings.Cut(l, " ")
	if !ok {
		return fmt.Errorf("%q has nothing after it", l)
	}
	if key, ok := strings.CutSuffix(mark, ":"); ok {
		s.entries = append(s.entries, line{key: key, text: rest, pause: *pause})
		*pause = 0
		return nil
	}
	if mark == "~" {
		n, err := strconv.Atoi(rest)
		*pause += n
		return err
	}
	if len(s.entries) == 0 {
		return fmt.Errorf("%q has no entry above it", l)
	}
	left, right, ok := strings.Cut(rest, " | ")
	if !ok {
		return fmt.Errorf("%q has no |", l)
	}
	e := &s.entries[len(s.entries)-1]
	switch {
	case mark == "^":
		e.highlights = append(e.highlights, highlight{left, right})
	case mark[0] == '*':
		e.actions = append(e.actions, action{left, right, strings.Contains(mark, "x"), strings.Contains(mark, "u")})
	default:
		return fmt.Errorf("%q begins with an unknown mark", l)
	}
	return nil
}

// headerValue returns the last value of a header, or otherwise.
func (s *script) headerValue(key, fallback string) string {
	if v := s.head[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return fallback
}
