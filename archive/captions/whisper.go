package captions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"minutebook/internal/phrase"
	"minutebook/internal/rawjson"
)

// segment is an element of the JSON of Whisper and WhisperX, in seconds, or of the
// transcription of whisper.cpp, which has offsets in milliseconds.
type segment struct {
	Start   *float64 `json:"start"` // WhisperX leaves out the times that it did not find
	End     *float64 `json:"end"`
	Offsets *struct {
		From float64 `json:"from"`
		To   float64 `json:"to"`
	} `json:"offsets"`
	Text    string `json:"text"`
	Speaker string `json:"speaker"`
}

// IsWhisper reports whether JSON is a transcript of the Whisper family and not a
// meeting: whether its object has one of their two lists.
func IsWhisper(r io.Reader) bool {
	d := jsontext.NewDecoder(transform.NewReader(r, utf.BOMOverride(transform.Nop)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for {
		key, err := d.ReadToken()
		if err != nil || key.Kind() != '"' {
			return false
		}
		switch name := key.String(); {
		case name == "recording_id":
			return false
		case (name == "segments" || name == "transcription") && d.PeekKind() == '[':
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
}

// whisperReader reads a transcript segment by segment, so that words with times of their
// own take no memory.
type whisperReader struct {
	*jsontext.Decoder
	content []byte
	t       Transcript
	text    int     // bytes of the captions
	last    float64 // end of the segment before
}

func parseWhisper(content []byte) (Transcript, error) {
	content, _, err := transform.Bytes(utf.BOMOverride(transform.Nop), content)
	if err != nil {
		return Transcript{}, err
	}
	w := &whisperReader{Decoder: jsontext.NewDecoder(bytes.NewBuffer(content), rawjson.Options()...), content: content}
	if err := w.readObject(); err != nil {
		return Transcript{}, err
	}
	if !slices.ContainsFunc(w.t.Captions, func(c Caption) bool { return c.Speaker != "" }) {
		splitNames(w.t.Captions)
	}
	return w.t, nil
}

func (w *whisperReader) readObject() error {
	if w.PeekKind() == '[' {
		return &LineError{1, "it is a JSON array, which does not belong there"}
	}
	if _, err := w.ReadToken(); err != nil {
		return w.locate(err)
	}
	for w.PeekKind() != '}' {
		token, err := w.ReadToken()
		if err != nil {
			return w.locate(err)
		}
		name := token.String()
		if isList := w.PeekKind() == '['; isList && (name == "segments" || name == "transcription") {
			err = w.readSegments(name)
		} else if name == "language" || name == "result" {
			err = w.readLanguage(name)
		} else {
			err = w.locate(w.SkipValue())
		}
		if err != nil {
			return err
		}
	}
	if _, err := w.ReadToken(); err != nil {
		return w.locate(err)
	}
	if _, err := w.ReadToken(); !errors.Is(err, io.EOF) {
		return &LineError{lineAt(w.content, w.InputOffset()), "here it is no JSON any more"}
	}
	return nil
}

// readLanguage reads the language, which whisper.cpp has in its result.
func (w *whisperReader) readLanguage(name string) error {
	var result struct {
		Language string `json:"language"`
	}
	if name == "result" {
		if err := w.decode(name, &result); err != nil {
			return err
		}
	} else if err := w.decode(name, &result.Language); err != nil {
		return err
	}
	w.t.Language = cmp.Or(w.t.Language, result.Language)
	return nil
}

func (w *whisperReader) readSegments(name string) error {
	if _, err := w.ReadToken(); err != nil {
		return w.locate(err)
	}
	for i := 0; w.PeekKind() != ']'; i++ {
		var s segment
		place := fmt.Sprintf("%s[%d]", name, i)
		if err := w.decode(place, &s); err != nil {
			return err
		}
		if err := w.add(place, s); err != nil {
			return err
		}
	}
	_, err := w.ReadToken()
	return w.locate(err)
}

// decode reads the next value.
func (w *whisperReader) decode(place string, into any) error {
	raw, err := w.ReadValue()
	if err != nil {
		return w.locate(err)
	}
	err = json.Unmarshal(raw, into)
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field != "" {
			place += "." + kind.Field
		}
		return &LineError{lineAt(w.content, w.InputOffset()-int64(len(raw))+kind.Offset), fmt.Sprintf("%s is a JSON %s, which does not belong there", place, kind.Value)}
	}
	return err
}

// locate returns the error of a text that is no JSON with its line.
func (w *whisperReader) locate(err error) error {
	if err == nil {
		return nil
	}
	at := w.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = max(at, syntax.ByteOffset)
	}
	return &LineError{lineAt(w.content, at), "here it is no JSON any more"}
}

// add adds a caption.
func (w *whisperReader) add(place string, s segment) error {
	start, end := w.last, 0.0
	if s.Start != nil {
		start = *s.Start
	}
	if end = start; s.End != nil {
		end = *s.End
	}
	if s.Offsets != nil {
		start, end = s.Offsets.From/1000, s.Offsets.To/1000
	}
	if !(start >= 0 && end >= start && end <= longest.Seconds()) {
		return fmt.Errorf("%s: it lasts from %v to %v seconds, which is no span of a recording", place, start, end)
	}
	seconds := func(s float64) time.Duration { return time.Duration(math.Round(s*1000)) * time.Millisecond }
	c := Caption{seconds(start), seconds(end), cleanName(s.Speaker), phrase.OneLine(s.Text)}
	w.t.Captions, w.text, w.last = append(w.t.Captions, c), w.text+len(c.Text)+len(c.Speaker), end
	if len(w.t.Captions) > maxCaptions {
		return errTooMany
	}
	if w.text > maxText {
		return errTooLong
	}
	return nil
}
