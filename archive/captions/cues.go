package captions

import (
	"fmt"
	"html"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/phrase"
)

// timing is the line of a cue that says when it is spoken. Settings may follow in
// WebVTT, and coordinates in SubRip.
var timing = regexp.MustCompile(`^\s*(\S+)\s+-->\s+(\S+)(?:\s.*)?$`)

// clock is a time in a cue: hours may be missing, and the fraction after "." or ",".
var clock = regexp.MustCompile(`^(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?$`)

// parseCues reads WebVTT or SubRip. A cue is a block of lines that ends with an empty
// one: a name or number that is not needed, the times, and the text.
func parseCues(text string, isVTT bool) (t Transcript, err error) {
	body, line := text, 1
	if isVTT {
		if t.Language, body, line, err = cutHeader(text); err != nil {
			return t, err
		}
	}
	var more []string // blocks that go on with the last caption
	extend := func() {
		if last := len(t.Captions) - 1; more != nil {
			t.Captions[last].Text = phrase.OneLine(t.Captions[last].Text + " " + strings.Join(more, " "))
		}
		more = nil
	}
	for block, first := range blocks(body, line, isVTT) {
		if !isVTT && len(t.Captions) > 0 && isMoreText(block) {
			more = append(more, plainText(block))
			continue
		}
		extend()
		if t.Captions, err = appendCue(t.Captions, block, first, isVTT); err != nil {
			return t, err
		}
		if len(t.Captions) > maxCaptions {
			return t, errTooMany
		}
	}
	extend()
	if !usesVoices(text, isVTT) {
		splitNames(t.Captions)
	}
	return t, nil
}

// cutHeader reads the first lines of WebVTT and returns the text after them with its line.
func cutHeader(text string) (language, body string, line int, err error) {
	head, body, _ := strings.Cut(text, "\n")
	if head != "WEBVTT" && !strings.HasPrefix(head, "WEBVTT ") && !strings.HasPrefix(head, "WEBVTT\t") {
		return "", "", 0, &LineError{1, "a WebVTT file begins with WEBVTT"}
	}
	for line = 2; ; line++ {
		next, rest, more := strings.Cut(body, "\n")
		if next == "" || strings.Contains(next, "-->") {
			return language, body, line, nil
		}
		if value, ok := strings.CutPrefix(next, "Language:"); ok {
			language = strings.TrimSpace(value)
		}
		if body = rest; !more {
			return language, body, line, nil
		}
	}
}

// blocks yields the blocks of lines between blank ones, with the line on which each
// begins. The first line of text has the number line. In WebVTT a line of white space is a part
// of the cue, as programs write it, unless the next cue follows.
func blocks(text string, line int, isVTT bool) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		begin, first := -1, 0
		for at := 0; at < len(text); line++ {
			end := len(text)
			if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
				end = at + n
			}
			blank := strings.TrimSpace(text[at:end]) == "" && !(isVTT && end > at && begin >= 0 && !beginsCue(text[end:]))
			if blank && begin >= 0 {
				if !yield(text[begin:at-1], first) {
					return
				}
				begin = -1
			} else if !blank && begin < 0 {
				begin, first = at, line
			}
			at = end + 1
		}
		if begin >= 0 {
			yield(strings.TrimSuffix(text[begin:], "\n"), first)
		}
	}
}

// beginsCue reports whether a cue follows the end of a line: its times, or a name and its times.
func beginsCue(rest string) bool {
	lines := strings.SplitN(strings.TrimPrefix(rest, "\n"), "\n", 3)
	return strings.Contains(lines[0], "-->") || len(lines) > 1 && strings.TrimSpace(lines[0]) != "" && strings.Contains(lines[1], "-->")
}

// isMoreText reports whether a block of SubRip is no cue: text after an empty line.
func isMoreText(block string) bool {
	name, rest, _ := strings.Cut(block, "\n")
	times, _, _ := strings.Cut(rest, "\n")
	return !strings.Contains(name, "-->") && !strings.Contains(times, "-->") && (rest != "" || !isNumber(name))
}

// appendCue reads the block that begins at a line of the file.
func appendCue(all []Caption, block string, line int, isVTT bool) ([]Caption, error) {
	times, text, more := strings.Cut(block, "\n")
	if !strings.Contains(times, "-->") {
		name := strings.TrimSpace(times)
		word, _, _ := strings.Cut(name, " ")
		if isVTT && (word == "NOTE" || word == "STYLE" || word == "REGION") || !more && isNumber(name) {
			return all, nil // a remark, or a cue without times and text
		}
		if times, text, _ = strings.Cut(text, "\n"); more {
			line++
		}
	}
	if !strings.Contains(times, "-->") {
		return nil, &LineError{line, "here should be times such as 00:01:02.500 --> 00:01:05.000"}
	}
	start, end, err := parseTiming(times)
	if err != nil {
		return nil, &LineError{line, err.Error()}
	}
	if !isVTT {
		return append(all, Caption{Start: start, End: end, Text: plainText(text)}), nil
	}
	return append(all, splitVoices(Caption{Start: start, End: end}, text)...), nil
}

func isNumber(line string) bool {
	_, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	return err == nil
}

func parseTiming(line string) (start, end time.Duration, err error) {
	fields := timing.FindStringSubmatch(line)
	if fields == nil {
		return 0, 0, fmt.Errorf("%q are no times such as 00:01:02.500 --> 00:01:05.000", shorten(line))
	}
	if start, err = parseClock(fields[1]); err != nil {
		return 0, 0, err
	}
	if end, err = parseClock(fields[2]); err != nil {
		return 0, 0, err
	}
	if end < start {
		return 0, 0, fmt.Errorf("it ends at %s, before it begins at %s", fields[2], fields[1])
	}
	return start, end, nil
}

func parseClock(text string) (time.Duration, error) {
	fields := clock.FindStringSubmatch(text)
	if fields == nil {
		return 0, fmt.Errorf("%q is no time such as 00:01:02.500", shorten(text))
	}
	var parts [3]int64
	for i, digits := range fields[1:4] {
		if digits != "" {
			parts[i], _ = strconv.ParseInt(digits, 10, 64) // at most four digits
		}
	}
	if parts[1] > 59 || parts[2] > 59 {
		return 0, fmt.Errorf("%q has more than 59 minutes or seconds", shorten(text))
	}
	d := time.Duration(parts[0])*time.Hour + time.Duration(parts[1])*time.Minute + time.Duration(parts[2])*time.Second
	fraction, _ := strconv.ParseInt((fields[4] + "000000000")[:9], 10, 64) // nanoseconds: nine digits
	if d += time.Duration(fraction); d > longest {
		return 0, fmt.Errorf("%q is later than any recording lasts", shorten(text))
	}
	return d, nil
}

// shorten returns the beginning of a text that an error quotes.
func shorten(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}

// tag is a tag or a time of WebVTT, or of the HTML and {\an8} that programs write into SubRip. The
// sign of a comparison begins none.
var tag = regexp.MustCompile(`</?[a-zA-Z][^>]*>|<\d[\d:.]*>|\{\\[^}]*\}`)

// plainText returns the words of a cue, without tags and with entities resolved.
func plainText(text string) string {
	return phrase.OneLine(html.UnescapeString(tag.ReplaceAllString(text, "")))
}
