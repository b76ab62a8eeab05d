package captions

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Caption is a span of speech: at least one letter or digit, and no line breaks.
type Caption struct {
	Start, End time.Duration // from the beginning of the recording; End is not before Start
	Speaker    string        // "" when not known
	Text       string
}

// Transcript is everything that was said in a recording.
type Transcript struct {
	Captions []Caption // by Start
	Language string    // as the program says, such as "en"; "" when it does not
}

// End returns the time at which the last caption ends.
func (t Transcript) End() (end time.Duration) {
	for _, c := range t.Captions {
		end = max(end, c.End)
	}
	return end
}

// LineError is the error of a line.
type LineError struct {
	Line   int // from 1
	Reason string
}

// Error names the line, then the reason.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// The bounds of a transcript, each beyond a day of talk in the most wordy format.
const (
	maxCues     = 16 << 20 // bytes of a file of WebVTT or SubRip
	maxJSON     = 64 << 20 // bytes of a file of JSON, which may give the time of each word
	maxCaptions = 250_000
	maxText     = 16 << 20 // bytes of the captions of a file of JSON
)

var (
	errTooMany = fmt.Errorf("it has more than %d captions", maxCaptions)
	errTooLong = fmt.Errorf("it has more than %d MiB of text", maxText>>20)
)

// longest is the longest recording that is believed.
const longest = 1000 * time.Hour

// Extensions returns the extensions of the files that Parse reads, the format that
// tells most about the speakers first.
func Extensions() []string { return []string{".json", ".vtt", ".srt"} }

// MaxSize returns the length, in bytes, of the longest file with this name that Parse is given.
func MaxSize(name string) int64 {
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return maxJSON
	}
	return maxCues
}

// Parse reads a transcript in the format that the file's name says. It fails for one that
// has too many captions or too much text or in which nobody says anything, and with a
// [LineError] for content that is not of this format. The error of times that no recording has
// names a segment of JSON by its number.
func Parse(name string, content []byte) (t Transcript, err error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		t, err = parseWhisper(content)
	case ".vtt", ".srt":
		var text string
		if text, err = DecodeText(content); err == nil {
			t, err = parseCues(text, strings.EqualFold(filepath.Ext(name), ".vtt"))
		}
	default:
		return t, fmt.Errorf("%s: no transcript has this extension; there are .vtt, .srt and .json", filepath.Ext(name))
	}
	if err != nil {
		return Transcript{}, err
	}
	t.Captions = slices.DeleteFunc(t.Captions, func(c Caption) bool { return !strings.ContainsFunc(c.Text, isSpoken) })
	if len(t.Captions) == 0 {
		return Transcript{}, &LineError{1, "nobody says anything in it"}
	}
	slices.SortStableFunc(t.Captions, func(a, b Caption) int { return cmp.Compare(a.Start, b.Start) })
	return t, nil
}

func isSpoken(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Utterances joins captions that go on with a sentence of the same speaker, which
// programs cut where a line is full. No words are lost.
func (t Transcript) Utterances() []Caption {
	const (
		pause = 2 * time.Second
		long  = 400 // bytes of an utterance that is long enough
	)
	var all []Caption
	for _, c := range t.Captions {
		if n := len(all) - 1; n >= 0 && all[n].Speaker == c.Speaker && c.Start-all[n].End <= pause &&
			len(all[n].Text) < long && !endsSentence(all[n].Text) {
			all[n].Text += " " + c.Text
			all[n].End = max(all[n].End, c.End)
			continue
		}
		all = append(all, c)
	}
	return all
}

func endsSentence(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, `"'”’»)`))
	return strings.ContainsRune(".?!…。？！", last)
}

// DecodeText reads text in UTF-8, or in UTF-16 with a byte order mark. Lines of the result end
// with a line feed. It fails with a [LineError] for text that is neither.
func DecodeText(content []byte) (string, error) {
	text := bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		var err error
		if text, _, err = transform.Bytes(utf.BOMOverride(transform.Nop), content); err != nil {
			return "", fmt.Errorf("read text: %w", err)
		}
	}
	if utf8.Valid(text) {
		for _, c := range [][2]string{{"\r\n", "\n"}, {"\r", "\n"}, {"\x00", "\ufffd"}} {
			if bytes.Contains(text, []byte(c[0])) { // seldom: each copies the text
				text = bytes.ReplaceAll(text, []byte(c[0]), []byte(c[1]))
			}
		}
		return string(text), nil
	}
	line := 1
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		rest = rest[size:]
	}
	return "", &LineError{line, "it is not UTF-8: save the file as UTF-8"}
}

// lineAt returns the line of a byte of some text, from 1.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
