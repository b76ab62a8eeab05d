package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ImportOptions say how to take files in.
type ImportOptions struct {
	// Account is who the meetings are noted for; "import" when empty.
	Account string
	// At dates the content of what has no date of its own: when the file was
	// written. The archive's clock when zero.
	At time.Time
	// Progress, when set, is called after each batch.
	Progress func(done int)
}

// ImportResult is what an import did.
type ImportResult struct {
	Read      int     `json:"read"`            // meetings read
	New       int     `json:"new"`             // never seen before
	Changed   int     `json:"changed"`         // with an effective change, new ones included
	Forgotten int     `json:"forgotten"`       // left out since they were forgotten here
	Wrong     []Wrong `json:"wrong,omitempty"` // lines that were left out, with the reason
}

// Wrong is a line that could not be imported.
type Wrong struct {
	File string // as named by the caller; "" for Import
	Line int    // from 1
	Err  error
}

// Error names the place, then the reason.
func (w Wrong) Error() string {
	if w.File == "" {
		return fmt.Sprintf("line %d: %v", w.Line, w.Err)
	}
	return fmt.Sprintf("%s: line %d: %v", w.File, w.Line, w.Err)
}

// MarshalJSON writes file, line and the reason's text.
func (w Wrong) MarshalJSON() ([]byte, error) {
	return json.Marshal(wrongJSON{w.File, w.Line, w.Err.Error()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Wrong) UnmarshalJSON(raw []byte) error {
	var v wrongJSON
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("read wrong line: %w", err)
	}
	*w = Wrong{v.File, v.Line, errors.New(v.Reason)}
	return nil
}

type wrongJSON struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Unwrap returns the reason.
func (w Wrong) Unwrap() error { return w.Err }

// Bounds of an import, in bytes: of one line, and of what is applied at once.
const (
	maxImportLine  = 256 << 20
	maxImportBatch = 8 << 20
	importBatch    = 200 // meetings
)

// Import takes in Meeting objects, one a line (NDJSON), or one object or array
// over any number of lines. What the archive knows better stays: an import
// counts as told, not as read, and the same file once more changes nothing. A
// line that is no meeting is left out and named in the result; the others go
// in. It fails when reading or the disk does; what was applied until then is in.
func (a *Archive) Import(ctx context.Context, o ImportOptions, r io.Reader) (ImportResult, error) {
	im := &importing{archive: a, ImportOptions: o}
	if im.Account == "" {
		im.Account = "import"
	}
	if im.At.IsZero() {
		im.At = a.now()
	}
	err := eachObject(r, func(line int, raw []byte, err error) error {
		if err != nil {
			im.wrong(line, err)
			return ctx.Err()
		}
		return im.add(ctx, line, raw)
	})
	if err = errors.Join(err, im.flush(ctx)); err != nil {
		return im.result, fmt.Errorf("import: %w", err)
	}
	return im.result, nil
}

// importing is one run of Import.
type importing struct {
	ImportOptions
	archive *Archive
	batch   []Observation
	size    int
	result  ImportResult
}

func (im *importing) wrong(line int, err error) {
	im.result.Wrong = append(im.result.Wrong, Wrong{Line: line, Err: err})
}

func (im *importing) add(ctx context.Context, line int, raw []byte) error {
	o, err := FromMeeting(im.Account, SourceImport, im.At, raw)
	if err == nil {
		_, err = o.weigh()
	}
	if err != nil {
		im.wrong(line, err)
		return ctx.Err()
	}
	im.batch = append(im.batch, o)
	im.size += len(raw)
	if len(im.batch) < importBatch && im.size < maxImportBatch {
		return nil
	}
	return im.flush(ctx)
}

func (im *importing) flush(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	for _, o := range im.batch {
		err := im.archive.missing(ctx, o.RecordingID)
		if errors.Is(err, ErrForgotten) {
			im.result.Forgotten++
		} else if !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	applied, err := im.archive.Apply(ctx, im.batch)
	if err != nil {
		return err
	}
	im.result.Read += len(im.batch)
	im.result.New += applied.New
	im.result.Changed += len(applied.Changed)
	im.batch, im.size = nil, 0
	if im.Progress != nil {
		im.Progress(im.result.Read)
	}
	return nil
}

// eachObject calls fn for every JSON object of a stream, with the line that it
// begins on, or with an error for a line that is none.
func eachObject(r io.Reader, fn func(line int, raw []byte, err error) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	if bom, err := br.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		br.Discard(3)
	}
	for n := 1; ; n++ {
		line, err := readLine(br)
		if errors.Is(err, errLongLine) {
			if err := fn(n, nil, err); err != nil {
				return err
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read line %d: %w", n, err)
		}
		trimmed := bytes.TrimSpace(line)
		if n == 1 && err == nil && opens(trimmed) {
			return eachInDocument(trimmed[0] == '[', io.MultiReader(bytes.NewReader(line), br), fn)
		}
		if len(trimmed) > 0 {
			objects, jsonErr := objectsOf(trimmed)
			for _, o := range objects {
				if err := fn(n, o, nil); err != nil {
					return err
				}
			}
			if jsonErr != nil {
				if err := fn(n, nil, jsonErr); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return nil
		}
	}
}

var errLongLine = fmt.Errorf("it is longer than %d MiB", maxImportLine>>20)

// readLine reads up to and with the next line feed. A line that is too long is
// read over.
func readLine(br *bufio.Reader) (line []byte, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > maxImportLine {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
			return nil, errors.Join(errLongLine, ignoreEOF(err))
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
