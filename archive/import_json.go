package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// opens tells whether a first line is the beginning of a document that goes on
// over further lines.
func opens(line []byte) bool {
	if len(line) == 0 || line[0] != '{' && line[0] != '[' || json.Valid(line) {
		return false
	}
	var v any
	err := json.NewDecoder(bytes.NewReader(line)).Decode(&v)
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// objectsOf returns the objects of one line: the object itself, those of an
// array, or the items of a page as the service's list answers it.
func objectsOf(line []byte) ([]json.RawMessage, error) {
	if !json.Valid(line) {
		var v json.RawMessage
		return nil, fmt.Errorf("it is not JSON: %w", json.Unmarshal(line, &v))
	}
	switch line[0] {
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(line, &items); err != nil {
			return nil, err
		}
		return items, nil
	case '{':
		if items := pageItems(line); items != nil {
			return items, nil
		}
		return []json.RawMessage{bytes.Clone(line)}, nil
	}
	return nil, errors.New("it is neither an object nor an array")
}

// pageItems returns the items of a list's page; nil when it is not one.
func pageItems(object []byte) []json.RawMessage {
	var page struct {
		Items       []json.RawMessage `json:"items"`
		RecordingID json.RawMessage   `json:"recording_id"`
	}
	if json.Unmarshal(object, &page) != nil || page.RecordingID != nil {
		return nil
	}
	return page.Items
}

// eachInDocument reads objects, or an array of them, written over several
// lines. JSON that breaks off ends the reading: where the next object begins
// cannot be known.
func eachInDocument(array bool, r io.Reader, fn func(line int, raw []byte, err error) error) error {
	lines := &lineCounter{r: r, line: 1}
	dec := json.NewDecoder(lines)
	broken := func(err error) error {
		at := dec.InputOffset()
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = max(at, syntax.Offset-1)
		}
		return fn(lines.at(at), nil, fmt.Errorf("it is not JSON from here on: %w", err))
	}
	if array {
		if _, err := dec.Token(); err != nil {
			return broken(err)
		}
	}
	for !array || dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) && !array {
			return nil
		} else if err != nil {
			return broken(err)
		}
		line := lines.at(dec.InputOffset() - int64(len(raw)))
		objects, err := objectsOf(raw)
		if err != nil {
			objects = []json.RawMessage{nil}
		}
		for _, o := range objects {
			if err := fn(line, o, err); err != nil {
				return err
			}
		}
	}
	if _, err := dec.Token(); err != nil {
		return broken(err)
	}
	return nil
}

// lineCounter tells on which line an offset of what was read lies.
type lineCounter struct {
	r      io.Reader
	offset int64   // of what was read
	line   int     // of the last offset asked for
	breaks []int64 // offsets of the line feeds after it
}

// Read is part of io.Reader.
func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.breaks = append(c.breaks, c.offset+int64(i))
		}
	}
	c.offset += int64(n)
	return n, err
}

// at returns the line of an offset; offsets are asked for in rising order.
func (c *lineCounter) at(offset int64) int {
	i := 0
	for i < len(c.breaks) && c.breaks[i] < offset {
		i++
	}
	c.line += i
	c.breaks = c.breaks[i:]
	return c.line
}
