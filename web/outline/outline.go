// Package outline finds the chapters of a talk and the questions that were asked in it.
// It is plain computation: it keeps nothing and has nothing to lose in a crash.
//
//	outline.go   lines, chapters, and the choice between the talk and the highlights
//	division.go  where the talk changes its subject
//	title.go     the words that set a chapter apart
//	question.go  questions
package outline

import (
	"slices"
	"time"
)

// Line is something that somebody said without interruption.
type Line struct {
	At            time.Duration
	Speaker, Text string
}

// Highlight is a marked moment of the recording, with its name.
type Highlight struct {
	At   time.Duration
	Name string
}

// Chapter is a part of a talk, up to the next one.
type Chapter struct {
	At    time.Duration
	Line  int    // its first line
	Title string // the name of a highlight, or the words that set the chapter apart
}

// Source is the material that chapters were made from.
type Source string

// The sources of chapters. Without one there are none.
const (
	FromTalk       Source = "talk"       // the subject changes where they begin
	FromHighlights Source = "highlights" // somebody marked the moments
	Short          Source = "short"      // none: the talk is too short
	Even           Source = "even"       // none: the subject changes nowhere clearly
)

// Bounds of chapters.
const (
	minTalk    = 8 * time.Minute
	minWords   = 1000
	minChapter = 3 * time.Minute
	maxTitle   = 80 // characters
)

// Chapters returns the chapters of a talk, whose lines are in the order of time, or why
// there are none. Where the talk itself has no clear turns, or too few words to tell,
// highlights divide it, if there are three or more. The stop words of the language, which
// are folded, tell nothing.
func Chapters(lines []Line, highlights []Highlight, stop map[string]bool) ([]Chapter, Source) {
	if len(lines) < 2 || lines[len(lines)-1].At-lines[0].At < minTalk {
		return nil, Short
	}
	d := newDivision(lines, stop)
	source := FromTalk
	starts := d.chapterStarts()
	if len(starts) == 0 {
		source = FromHighlights
		starts = highlightStarts(lines, highlights)
		switch {
		case len(starts) >= 3:
		case len(d.blocks)*blockWords < minWords:
			return nil, Short
		default:
			return nil, Even
		}
	}
	if starts[0] != 0 {
		starts = slices.Insert(starts, 0, 0)
	}
	chapters := make([]Chapter, len(starts))
	for i, first := range starts {
		end := len(lines)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		chapters[i] = Chapter{At: lines[first].At, Line: first, Title: nameWithin(lines, first, end, highlights)}
		if chapters[i].Title == "" {
			chapters[i].Title = d.title(first, end)
		}
	}
	return chapters, source
}

// highlightStarts returns the lines at which highlights begin, at least minChapter apart.
func highlightStarts(lines []Line, highlights []Highlight) (starts []int) {
	sorted := slices.SortedFunc(slices.Values(highlights), func(a, b Highlight) int { return int(a.At - b.At) })
	for _, h := range sorted {
		i := lineAt(lines, h.At)
		if h.Name == "" || h.At < 0 || len(starts) > 0 && lines[i].At-lines[starts[len(starts)-1]].At < minChapter {
			continue
		}
		starts = append(starts, i)
	}
	return starts
}

// lineAt returns the line that is said at a moment, the first one before all.
func lineAt(lines []Line, at time.Duration) int {
	i, found := slices.BinarySearchFunc(lines, at, func(l Line, at time.Duration) int { return int(l.At - at) })
	if found || i == 0 {
		return i
	}
	return i - 1
}

// nameWithin returns the name of the first highlight within some lines, cut to maxTitle.
func nameWithin(lines []Line, first, end int, highlights []Highlight) string {
	best := Highlight{At: -1}
	for _, h := range highlights {
		inside := h.At >= lines[first].At && (end == len(lines) || h.At < lines[end].At)
		if inside && h.Name != "" && (best.At < 0 || h.At < best.At) {
			best = h
		}
	}
	if runes := []rune(best.Name); len(runes) > maxTitle {
		return string(runes[:maxTitle-1]) + "…"
	}
	return best.Name
}
