package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"minutebook/archive"
)

// cue is one subtitle.
type cue struct {
	from, to      time.Duration
	speaker, text string // one line each
}

// Bounds of how long a subtitle stays. lastCue is the time of the last subtitle,
// and the longest time of a short one when the next is far away.
const (
	minCue  = 500 * time.Millisecond
	lastCue = 10 * time.Second
)

// makeCues makes subtitles of a transcript: in order of time, none without a length or a
// text. Each ends where the next one begins or before, but stays for minCue. Entries that begin
// at the same millisecond share the time until the next one.
func makeCues(entries []archive.Entry, length time.Duration) []cue {
	all := make([]cue, 0, len(entries))
	for _, e := range entries {
		text := oneLine(e.Text)
		if text == "" {
			continue
		}
		from := max(e.Offset, 0).Truncate(time.Millisecond)
		all = append(all, cue{from: from, speaker: oneLine(e.Speaker), text: text})
	}
	slices.SortStableFunc(all, func(a, b cue) int { return cmp.Compare(a.from, b.from) })
	for rest := all; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].from == rest[0].from {
			n++
		}
		end := length
		if n < len(rest) {
			end = rest[n].from
		}
		shareTime(rest[:n], end)
		rest = rest[n:]
	}
	return all
}

// shareTime divides the time until end among subtitles with the same beginning, in
// their order. An end that is not after their beginning counts as unknown.
func shareTime(cues []cue, end time.Duration) {
	from := cues[0].from
	if end <= from {
		end = from + time.Duration(len(cues))*lastCue
	}
	part := (end - from) / time.Duration(len(cues))
	for i := range cues {
		c := &cues[i]
		duration := min(part, longestTime(c.text))
		c.from, c.to = from, from+max(duration, minCue)
		from += duration
	}
}

// longestTime returns the longest time for which a text is shown: unhurried reading, and never
// less than lastCue.
func longestTime(text string) time.Duration {
	return max(lastCue, time.Duration(len(text))*150*time.Millisecond)
}

// oneLine returns a text on one line: white space becomes single spaces, control characters
// are removed, and bytes that are no UTF-8 are replaced.
func oneLine(s string) string {
	if isOneLine(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "�")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), r == '\ufeff':
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// isOneLine is a quick test for texts that oneLine would not change. It may report
// false for some of them.
func isOneLine(s string) bool {
	before := byte(' ')
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return before != ' ' || s == ""
}

// WriteVTT writes a meeting's transcript as WebVTT; the speaker is a voice
// tag, which players style.
func WriteVTT(w io.Writer, m *Meeting) error {
	b := bufio.NewWriter(w)
	b.WriteString("WEBVTT\n")
	for _, c := range makeCues(m.Entries, m.Row.Length()) {
		fmt.Fprintf(b, "\n%s --> %s\n", cueTime(c.from, '.'), cueTime(c.to, '.'))
		b.WriteString(voiceTag(c.speaker) + vttText(c.text) + "\n")
	}
	return b.Flush()
}

// vttText escapes the characters of a line that WebVTT reads as markup, an arrow
// between times included.
func vttText(line string) string { return vttEscapes.Replace(line) }

var vttEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// voiceTag returns the tag of a speaker in WebVTT, "" for a speaker without a name.
// The space before the end of the tag, which players strip, keeps a name that ends in
// dashes from forming an arrow with it.
func voiceTag(speaker string) string {
	name := vttText(speaker)
	if name == "" {
		return ""
	}
	if strings.HasSuffix(name, "-") {
		name += " "
	}
	return "<v " + name + ">"
}

// srtText replaces the markup of SubRip players, which have no escapes: tags,
// override codes and the arrow between times.
var srtText = strings.NewReplacer("<", "‹", ">", "›", "{", "(", "}", ")")

// WriteSRT writes SubRip with CRLF line ends, which every player reads; the speaker is
// written before the text.
func WriteSRT(w io.Writer, m *Meeting) error {
	b := bufio.NewWriter(w)
	for i, c := range makeCues(m.Entries, m.Row.Length()) {
		text := srtText.Replace(speakerPrefix(c.speaker) + c.text)
		fmt.Fprintf(b, "%d\r\n%s --> %s\r\n%s\r\n\r\n", i+1, cueTime(c.from, ','), cueTime(c.to, ','), text)
	}
	return b.Flush()
}

// cueTime formats a time; the two formats differ only in the decimal mark.
func cueTime(d time.Duration, mark byte) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", ms/3600000, ms/60000%60, ms/1000%60, mark, ms%1000)
}
