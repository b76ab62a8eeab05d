package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// isTranscript reports whether a transcript keeps to section 2.2. It goes through
// the text once without building values, since a page holds ten transcripts.
func isTranscript(raw json.RawMessage) bool {
	t := tokens{jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))}
	if !t.accept('[') {
		return false
	}
	for t.PeekKind() == '{' {
		if !t.isEntry() {
			return false
		}
	}
	if !t.accept(']') {
		return false
	}
	_, err := t.ReadToken()
	return errors.Is(err, io.EOF)
}

// tokens reads a JSON text. After a method has returned false its place means
// nothing.
type tokens struct{ *jsontext.Decoder }

func (t tokens) isEntry() bool {
	var speaker, text, timestamp bool
	ok := t.object(func(key string) bool {
		switch key {
		case "speaker":
			speaker = true
			return t.isSpeaker()
		case "text":
			text = true
			return t.value('"') != nil
		case "timestamp":
			timestamp = true
			offset := t.value('"')
			return offset != nil && isOffset(string(offset[1:len(offset)-1]))
		}
		return t.SkipValue() == nil
	})
	return ok && speaker && text && timestamp
}

func (t tokens) isSpeaker() bool {
	named := false
	ok := t.object(func(key string) bool {
		switch key {
		case "display_name":
			named = true
			return t.value('"') != nil
		case "matched_calendar_invitee_email":
			return t.value('n') != nil || t.value('"') != nil
		}
		return t.SkipValue() == nil
	})
	return ok && named
}

// object reads an object, calling member after each key to read its value.
func (t tokens) object(member func(key string) bool) bool {
	if !t.accept('{') {
		return false
	}
	for t.PeekKind() == '"' {
		key := t.value('"')
		if key == nil || !member(string(key[1:len(key)-1])) {
			return false
		}
	}
	return t.accept('}')
}

// accept reads a bracket.
func (t tokens) accept(kind jsontext.Kind) bool {
	if t.PeekKind() != kind {
		return false
	}
	_, err := t.ReadToken()
	return err == nil
}

// value reads a value of a kind as it is written; nil when it is another kind.
func (t tokens) value(kind jsontext.Kind) jsontext.Value {
	if t.PeekKind() != kind {
		return nil
	}
	v, err := t.ReadValue()
	if err != nil {
		return nil
	}
	return v
}
