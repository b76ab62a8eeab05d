package importer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"minutebook/internal/rawjson"
)

// eachObject calls fn for every JSON object of a stream, with the line on which it
// begins, or with an error for a line that is no object.
func eachObject(r io.Reader, fn func(line int, raw []byte, err error) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	if bom, err := br.Peek(2); err == nil && (string(bom) == "\xff\xfe" || string(bom) == "\xfe\xff") {
		br = bufio.NewReaderSize(transform.NewReader(br, unicode.BOMOverride(transform.Nop)), 1<<20)
	}
	if bom, err := br.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		br.Discard(3)
	}
	begun := false
	for n := 1; ; n++ {
		line, err := readLine(br)
		if errors.Is(err, errLongLine) {
			if err := fn(n, nil, err); err != nil {
				return err
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return unreadableFrom(n, err)
		}
		trimmed := bytes.TrimSpace(line)
		if !begun && len(trimmed) > 0 && err == nil && beginsDocument(trimmed) {
			if next, _ := br.Peek(1 << 20); goesOn(trimmed, next) {
				return eachInDocument(n, trimmed[0] == '[', io.MultiReader(bytes.NewReader(line), br), fn)
			}
		}
		begun = begun || len(trimmed) > 0
		if len(trimmed) > 0 {
			if err := callEach(n, trimmed, fn); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// callEach calls fn for the objects of one text that begins on a line.
func callEach(line int, raw []byte, fn func(line int, raw []byte, err error) error) error {
	objects, err := objectsOf(raw)
	if err != nil {
		return fn(line, nil, err)
	}
	for _, o := range objects {
		if err := fn(line, o, nil); err != nil {
			return err
		}
	}
	return nil
}

var errLongLine = fmt.Errorf("it is longer than %d MiB", maxLine>>20)

// readLine reads up to and with the next line feed. It skips a line that is too
// long and fails with errLongLine.
func readLine(br *bufio.Reader) (line []byte, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return nil, errors.Join(errLongLine, err)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// beginsDocument reports whether a first line begins a document that goes on over
// further lines.
func beginsDocument(line []byte) bool {
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	_, err := jsontext.NewDecoder(bytes.NewReader(line), rawjson.Options()...).ReadValue()
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// goesOn reports whether the next bytes go on with a document that a line begins, and are
// no object of their own after a line that was cut.
func goesOn(line, next []byte) bool {
	next, _, isWhole := bytes.Cut(bytes.TrimSpace(next), []byte("\n"))
	r := io.MultiReader(bytes.NewReader(line), strings.NewReader("\n"), bytes.NewReader(next))
	_, err := jsontext.NewDecoder(r, rawjson.Options()...).ReadValue()
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || len(next) == 0 || next[0] != '{' {
		return true
	}
	return isWhole && !json.Valid(next)
}

// objectsOf returns the objects of one text: the object itself, those of an array,
// or the items of a page as the service's lists answer it.
func objectsOf(raw []byte) ([][]byte, error) {
	if !json.Valid(raw) {
		dec := jsontext.NewDecoder(bytes.NewReader(raw), rawjson.Options()...)
		_, err := dec.ReadValue()
		if err == nil {
			err = fmt.Errorf("something follows at byte %d", dec.InputOffset()+1)
		}
		return nil, notJSON("it is not JSON", err)
	}
	list := raw
	switch raw[0] {
	case '[':
	case '{':
		members := rawjson.Map(raw)
		if list = members["items"]; len(list) == 0 || list[0] != '[' || members["recording_id"] != nil {
			return [][]byte{raw}, nil
		}
	default:
		return nil, errors.New("it is neither an object nor an array")
	}
	var objects [][]byte
	for o := range rawjson.Elements(list) {
		objects = append(objects, o)
	}
	return objects, nil
}

// eachInDocument reads objects, or an array of them, written over several lines, of which
// the first has a number.
// It stops at the first fault: the beginning of the next object cannot be known.
func eachInDocument(first int, array bool, r io.Reader, fn func(line int, raw []byte, err error) error) error {
	lines := &lineCounter{r: r, line: first}
	dec := jsontext.NewDecoder(lines, rawjson.Options()...)
	broken := func(err error) error {
		at := dec.InputOffset()
		if failed := lines.failed; errors.Is(failed, errLongLine) {
			return fn(lines.at(at), nil, failed)
		} else if failed != nil {
			return unreadableFrom(lines.at(at), failed)
		}
		if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
			at = max(at, syntax.ByteOffset)
		}
		return fn(lines.at(at), nil, notJSON("it is not JSON from here on", err))
	}
	if array {
		if _, err := dec.ReadToken(); err != nil {
			return broken(err)
		}
	}
	for !array || dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if errors.Is(err, io.EOF) && !array {
			return nil
		}
		if err != nil {
			return broken(err)
		}
		line := lines.at(dec.InputOffset() - int64(len(v)))
		if err := callEach(line, bytes.Clone(v), fn); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return broken(err)
	}
	return nil
}

// notJSON says in a person's words why a text is not JSON.
func notJSON(text string, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return errors.New(text + ": it ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: fault at byte %d", text, syntax.ByteOffset+1)
	}
	return fmt.Errorf("%s: %w", text, err)
}

// unreadableFrom returns the error of content that cannot be read from a line on, unless the
// import was interrupted.
func unreadableFrom(line int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return Wrong{Line: line, Err: fmt.Errorf("it cannot be read from here on: %w", err)}
}

// lineCounter finds the line of an offset in the bytes that were read. It reads at most
// maxLine beyond the last offset asked for.
type lineCounter struct {
	r      io.Reader
	offset int64   // of the next byte
	last   int64   // the last offset asked for
	line   int     // of it
	breaks []int64 // offsets of the line feeds after it
	failed error   // of a read
}

// Read is part of io.Reader.
func (c *lineCounter) Read(p []byte) (int, error) {
	if c.offset-c.last > maxLine {
		c.failed = errLongLine
		return 0, c.failed
	}
	n, err := c.r.Read(p)
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.failed = err
	}
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
	c.breaks, c.last = c.breaks[i:], offset
	return c.line
}
