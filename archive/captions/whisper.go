package captions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"minutebook/internal/phrase"
)

// whisper is the JSON of the Whisper family. Whisper and WhisperX write segments with
// seconds, whisper.cpp a transcription with milliseconds.
type whisper struct {
	Language string `json:"language"`
	Segments []struct {
		Start   *float64 `json:"start"` // WhisperX leaves out the times that it did not find
		End     *float64 `json:"end"`
		Text    string   `json:"text"`
		Speaker string   `json:"speaker"`
	} `json:"segments"`
	Result struct {
		Language string `json:"language"`
	} `json:"result"`
	Transcription []struct {
		Offsets struct {
			From float64 `json:"from"`
			To   float64 `json:"to"`
		} `json:"offsets"`
		Text    string `json:"text"`
		Speaker string `json:"speaker"`
	} `json:"transcription"`
}

// IsWhisper reports whether JSON is a transcript of the Whisper family and not a
// meeting: whether its object has one of their two lists.
func IsWhisper(r io.Reader) bool {
	d := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
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

func parseWhisper(content []byte) (t Transcript, err error) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	var w whisper
	if err := json.Unmarshal(content, &w); err != nil {
		return t, jsonError(content, err)
	}
	t.Language = w.Language
	if t.Language == "" {
		t.Language = w.Result.Language
	}
	last := 0.0
	for i, s := range w.Segments {
		start, end := last, 0.0
		if s.Start != nil {
			start = *s.Start
		}
		if end = start; s.End != nil {
			end = *s.End
		}
		if err := t.add(fmt.Sprintf("segments[%d]", i), start, end, s.Speaker, s.Text); err != nil {
			return t, err
		}
		last = end
	}
	for i, s := range w.Transcription {
		if err := t.add(fmt.Sprintf("transcription[%d]", i), s.Offsets.From/1000, s.Offsets.To/1000, s.Speaker, s.Text); err != nil {
			return t, err
		}
	}
	named := false
	for _, c := range t.Captions {
		named = named || c.Speaker != ""
	}
	if !named {
		splitNames(t.Captions)
	}
	return t, nil
}

// add adds a caption with its times in seconds.
func (t *Transcript) add(place string, start, end float64, speaker, text string) error {
	if !(start >= 0 && end >= start && end <= longest.Seconds()) {
		return fmt.Errorf("%s: it lasts from %v to %v seconds, which is no span of a recording", place, start, end)
	}
	seconds := func(s float64) time.Duration { return time.Duration(math.Round(s*1000)) * time.Millisecond }
	t.Captions = append(t.Captions, Caption{seconds(start), seconds(end), cleanName(speaker), phrase.OneLine(text)})
	return nil
}

// jsonError returns the error of JSON with its line.
func jsonError(content []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &LineError{lineAt(content, syntax.Offset), "here it is no JSON any more"}
	case errors.As(err, &kind):
		return &LineError{lineAt(content, kind.Offset), fmt.Sprintf("%s is a JSON %s, which does not belong there", kind.Field, kind.Value)}
	}
	return err
}
