// Package phrase writes small parts of sentences for people.
package phrase

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"
	"unicode"

	"minutebook/internal/civil"
)

// Missing ends the words of [Error] for a file or a folder that is not there.
const Missing = "is not there; correct the path"

// Error returns the text of an error, with the words of people for those of Go about a file
// that is not there or in the way. Joined errors stay on one line.
func Error(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	about, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return text
	}
	words := about.Path + " " + Missing
	switch {
	case about.Op == "mkdir" && errors.Is(about, fs.ErrNotExist):
		words = "a folder above " + about.Path + " " + Missing
	case errors.Is(about, syscall.EISDIR):
		words = about.Path + " is a folder, and a file is needed; correct the path"
	case !errors.Is(about, fs.ErrNotExist):
		return text
	}
	return strings.Replace(text, about.Error(), words, 1)
}

// OneLine returns a text with single spaces instead of line breaks and other white space,
// so that nobody's words look like another part of a message.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Tame returns somebody's words for a message or a terminal as OneLine and TameLines do.
func Tame(text string) string { return OneLine(TameLines(text)) }

// TameLines returns somebody's words without control characters, which terminals obey, and
// without those that turn the direction of the text after them. White space stays, but for
// carriage returns, with which a line would hide the one before.
func TameLines(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return ' '
		case unicode.IsControl(r) && !unicode.IsSpace(r) || TurnsText(r):
			return -1
		}
		return r
	}, text)
}

// TurnsText reports whether a character turns the direction of the text after it. The marks of
// direction, which Arabic and Hebrew texts have, act on their neighbours alone.
func TurnsText(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// NameMeeting returns a meeting's title, and its start in a layout where that is known, for a
// list in a message.
func NameMeeting(title string, start time.Time, layout string) string {
	name := cmp.Or(Tame(title), "Untitled")
	if civil.IsKnown(start) {
		name += ", " + start.Format(layout)
	}
	return name
}

// Count returns a number and its noun, such as "1 try" and "2 tries".
func Count[N int | int64](n N, singular, several string) string {
	return fmt.Sprintf("%d %s", n, Plural(n, singular, several))
}

// Meetings returns a number of meetings, such as "1 meeting".
func Meetings[N int | int64](n N) string { return Count(n, "meeting", "meetings") }

// Recordings returns a number of recordings, such as "2 recordings".
func Recordings[N int | int64](n N) string { return Count(n, "recording", "recordings") }

// Plural returns singular for 1 and several for every other number.
func Plural[N int | int64](n N, singular, several string) string {
	if n == 1 {
		return singular
	}
	return several
}
