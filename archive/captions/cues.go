package captions

import (
	"fmt"
	"html"
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
	lines := strings.Split(text, "\n")
	first := 0
	if isVTT {
		if head := lines[0]; head != "WEBVTT" && !strings.HasPrefix(head, "WEBVTT ") && !strings.HasPrefix(head, "WEBVTT\t") {
			return t, &LineError{1, "a WebVTT file begins with WEBVTT"}
		}
		for first < len(lines) && lines[first] != "" && !strings.Contains(lines[first], "-->") {
			if language, ok := strings.CutPrefix(lines[first], "Language:"); ok {
				t.Language = strings.TrimSpace(language)
			}
			first++
		}
	}
	for at := first; at < len(lines); {
		if strings.TrimSpace(lines[at]) == "" {
			at++
			continue
		}
		end := at
		for end < len(lines) && strings.TrimSpace(lines[end]) != "" {
			end++
		}
		if t.Captions, err = appendCue(t.Captions, lines[at:end], at+1, isVTT); err != nil {
			return t, err
		}
		at = end
	}
	if !usesVoices(text, isVTT) {
		splitNames(t.Captions)
	}
	return t, nil
}

// appendCue reads the block of lines that begins at a line of the file.
func appendCue(all []Caption, block []string, line int, isVTT bool) ([]Caption, error) {
	at := 0
	if !strings.Contains(block[0], "-->") {
		word, _, _ := strings.Cut(strings.TrimSpace(block[0]), " ")
		if isVTT && (word == "NOTE" || word == "STYLE" || word == "REGION") {
			return all, nil
		}
		at = 1
	}
	if at == len(block) && isNumber(block[0]) {
		return all, nil // a cue without times and text
	}
	if at == len(block) || !strings.Contains(block[at], "-->") {
		if !isVTT && len(all) > 0 { // an empty line within the text
			c := &all[len(all)-1]
			c.Text = phrase.OneLine(c.Text + " " + plainText(strings.Join(block, " ")))
			return all, nil
		}
		return nil, &LineError{line + min(at, len(block)-1), "here should be times such as 00:01:02.500 --> 00:01:05.000"}
	}
	start, end, err := parseTiming(block[at])
	if err != nil {
		return nil, &LineError{line + at, err.Error()}
	}
	text := strings.Join(block[at+1:], "\n")
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

// tag is a tag of WebVTT, or of the HTML and {\an8} that programs write into SubRip.
var tag = regexp.MustCompile(`<[^>]*>|\{\\[^}]*\}`)

// plainText returns the words of a cue, without tags and with entities resolved.
func plainText(text string) string {
	return phrase.OneLine(html.UnescapeString(tag.ReplaceAllString(text, "")))
}
