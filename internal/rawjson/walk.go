package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Errors of [Members].
var (
	ErrNotJSON   = errors.New("not valid JSON")
	errNotObject = errors.New("not a JSON object")
)

// Member is one key of an object with its value.
type Member struct {
	Key    string // decoded
	RawKey []byte // as written, with its quotes
	Value  []byte // as written
}

// Members returns the members of an object in their order, repeated keys
// included. It fails with [ErrNotJSON] or [errNotObject].
func Members(raw []byte) ([]Member, error) {
	d := newDecoder(raw)
	defer d.release()
	if d.PeekKind() != '{' {
		if !json.Valid(raw) {
			return nil, ErrNotJSON
		}
		return nil, errNotObject
	}
	members := make([]Member, 0, 8)
	d.enter()
	for d.hasMore() {
		key := d.readValue()
		value := d.readValue()
		if value != nil {
			members = append(members, Member{Text(key), key, value})
		}
	}
	d.leave()
	if !d.isAtEnd() {
		return nil, ErrNotJSON
	}
	return members, nil
}

// Map returns the members of an object by their keys, of repeated keys the last
// one; nil when raw is no object.
func Map(raw []byte) map[string]json.RawMessage {
	members, err := Members(raw)
	if err != nil {
		return nil
	}
	m := make(map[string]json.RawMessage, len(members))
	for _, member := range members {
		m[member.Key] = member.Value
	}
	return m
}

// Find returns the value of the last member with the key, nil when there is none
// or raw is no object.
func Find(raw []byte, key string) (value []byte) {
	members, _ := Members(raw)
	for _, m := range members {
		if m.Key == key {
			value = m.Value
		}
	}
	return value
}

// Elements returns the elements of a valid array in their order; of anything else
// those before the first fault.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		d := newDecoder(array)
		defer d.release()
		if d.PeekKind() != '[' {
			return
		}
		d.enter()
		for d.hasMore() {
			if v := d.readValue(); v == nil || !yield(v) {
				return
			}
		}
	}
}

// Text returns the text of a valid string literal, with U+FFFD for bytes that are not
// UTF-8: one for each run of them, or one for each byte where the literal has escapes.
func Text(literal []byte) string {
	if bytes.IndexByte(literal, '\\') < 0 {
		inner := literal[1 : len(literal)-1]
		if utf8.Valid(inner) {
			return string(inner)
		}
		return strings.ToValidUTF8(string(inner), "\uFFFD")
	}
	var s string
	if json.Unmarshal(literal, &s) != nil {
		return ""
	}
	return s
}

// decoder goes through a JSON text. After the first fault err is set and hasMore
// is false.
type decoder struct {
	jsontext.Decoder
	raw []byte
	err error
}

// decoders are those that are not in use: to make one takes as long as to read a small object.
var decoders = sync.Pool{New: func() any { return &decoder{} }}

// newDecoder returns a decoder, which the caller releases.
func newDecoder(raw []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.raw, d.err = raw, nil
	d.Reset(bytes.NewBuffer(raw), options...)
	return d
}

func (d *decoder) release() {
	d.raw = nil
	decoders.Put(d)
}

var options = Options()

// Options make jsontext accept all that encoding/json does.
func Options() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// enter and leave consume the mark that begins or ends an array or object.
func (d *decoder) enter() { d.readToken() }
func (d *decoder) leave() { d.readToken() }

func (d *decoder) readToken() {
	if d.err == nil {
		_, d.err = d.ReadToken()
	}
}

// hasMore reports whether another value follows within the array or object.
func (d *decoder) hasMore() bool {
	kind := d.PeekKind()
	return d.err == nil && kind != ']' && kind != '}'
}

// readValue returns the next value as it is written, nil after a fault.
func (d *decoder) readValue() []byte {
	if d.err != nil {
		return nil
	}
	var v jsontext.Value
	if v, d.err = d.ReadValue(); d.err != nil {
		return nil
	}
	end := d.InputOffset() // v itself is the decoder's
	return d.raw[end-int64(len(v)) : end : end]
}

// isAtEnd reports whether all was valid and nothing follows.
func (d *decoder) isAtEnd() bool {
	if d.err != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}
