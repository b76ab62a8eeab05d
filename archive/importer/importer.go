package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/phrase"
)

// Options say how to import files.
type Options struct {
	// Account is the account to which the meetings are attributed; "import" when empty.
	Account string
	// At is the time of the content. When zero, it is the time at which a file was
	// written, or that of the archive's clock.
	At time.Time
	// Notes receives the notes, ticks, merged people and saved searches of an export; nil
	// leaves them out. Authors knows people by
	// their addresses.
	Notes   *notes.DB
	Authors notes.Authors
	// Owner ("Name <address>") recorded the meetings of other programs whose metadata
	// names nobody, and VisibleTo sees those whose metadata does not say who does.
	Owner     string
	VisibleTo []string
	Zone      *time.Location // of their times without one; UTC when nil
	// Taken are the transcripts that a command has imported by another of its paths; nil: none.
	Taken map[string]bool
	// MinFree are the bytes that stay free on the disk: with less, a recording waits. 0: any.
	MinFree int64
	// Progress, when set, is called after each batch.
	Progress func(done int)

	store *storeState // of all meetings of a run or a look
}

// Result says how many meetings an import changed.
type Result struct {
	Read      int `json:"read"`            // meetings read
	New       int `json:"new"`             // never seen before
	Changed   int `json:"changed"`         // with an effective change, new ones included
	Forgotten int `json:"forgotten"`       // skipped because they were forgotten here
	Notes     int `json:"notes,omitempty"` // notes, ticks, merges and saved searches that were added
	// LostNotes are notes and ticks about meetings that are not here, or were forgotten.
	LostNotes int `json:"lost_notes,omitempty"`
	// UnknownAuthors are notes and saved searches whose authors are not known here, or were removed.
	UnknownAuthors int `json:"unknown_authors,omitempty"`
	// Recordings are the files that were attached to meetings of other programs.
	Recordings int `json:"recordings,omitempty"`
	// Expired are the files that are left out, since a retention rule has deleted the recordings of
	// their meetings and would delete these.
	Expired int `json:"expired,omitempty"`
	// Unused are the recordings that are left out, since their meetings have another.
	Unused []string `json:"unused,omitempty"`
	Wrong  []Wrong  `json:"wrong,omitempty"` // lines and files that were skipped, with the reason
}

// Add adds the counts and the wrong lines of another result.
func (r *Result) Add(other Result) {
	r.Read += other.Read
	r.New += other.New
	r.Changed += other.Changed
	r.Forgotten += other.Forgotten
	r.Notes += other.Notes
	r.LostNotes += other.LostNotes
	r.UnknownAuthors += other.UnknownAuthors
	r.Recordings += other.Recordings
	r.Expired += other.Expired
	r.Unused = append(r.Unused, other.Unused...)
	r.Wrong = append(r.Wrong, other.Wrong...)
}

// LeftOut counts the wrong lines and files.
func (r *Result) LeftOut() (n int) {
	for _, w := range r.Wrong {
		n += 1 + w.More
	}
	return n
}

// Wrong is a line or a file that was skipped.
type Wrong struct {
	File string // as named by the caller; "" for [Read]
	Line int    // from 1; 0: the whole file
	Err  error
	More int // lines after it that are wrong too, and not listed
}

// maxWrong is the number of wrong lines of a file that are listed.
const maxWrong = 100

// addWrong lists a wrong line, or counts it.
func addWrong(list []Wrong, w Wrong) []Wrong {
	if len(list) < maxWrong {
		return append(list, w)
	}
	list[len(list)-1].More++
	return list
}

// Error names the place, then the reason.
func (w Wrong) Error() string {
	if w.File == "" {
		return w.reason()
	}
	return QuoteHidden(w.File) + ": " + w.reason()
}

// reason is the error without the file.
func (w Wrong) reason() string {
	if w.Line == 0 {
		return w.Err.Error()
	}
	text := fmt.Sprintf("line %d: %v", w.Line, w.Err)
	if w.More > 0 {
		text += "; and " + phrase.Count(w.More, "more line", "more lines") + " after it"
	}
	return text
}

// QuoteHidden quotes a file's name with line breaks or other characters that nobody sees.
func QuoteHidden(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) >= 0 {
		return strconv.Quote(name)
	}
	return name
}

// MarshalJSON writes file, line and the reason's text.
func (w Wrong) MarshalJSON() ([]byte, error) {
	return json.Marshal(wrongJSON{w.File, w.Line, w.Err.Error(), w.More})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (w *Wrong) UnmarshalJSON(raw []byte) error {
	var v wrongJSON
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("read wrong line: %w", err)
	}
	*w = Wrong{v.File, v.Line, errors.New(v.Reason), v.More}
	return nil
}

type wrongJSON struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitzero"`
	Reason string `json:"reason"`
	More   int    `json:"more,omitzero"`
}

// Unwrap returns the reason.
func (w Wrong) Unwrap() error { return w.Err }

// Bounds of an import, in bytes: of a line, and of a batch that is applied at once.
const (
	maxLine       = 256 << 20
	maxBatchBytes = 8 << 20
	batchSize     = 200 // meetings
)

// Read imports Meeting objects: one per line (NDJSON), or one object or array over any
// number of lines. It fills the gaps of an archive and replaces nothing that was read
// from the service; importing the same file again changes nothing. A line that is no
// meeting is skipped and named in the result. When Read fails, the meetings before the
// failure are in the archive.
func Read(ctx context.Context, a *archive.Archive, o Options, r io.Reader) (Result, error) {
	im := newRun(a, o)
	if im.At.IsZero() {
		im.At = a.Now()
	}
	err := eachObject(r, func(line int, raw []byte, err error) error {
		if err != nil {
			im.reject(line, err)
			return ctx.Err()
		}
		return im.add(ctx, line, raw)
	})
	if err = errors.Join(err, im.flush(ctx)); err != nil {
		return im.result, fmt.Errorf("import: %w", err)
	}
	return im.result, nil
}

// run is one run of [Read], or the import of one meeting of another program.
type run struct {
	Options
	archive *archive.Archive
	batch   []archive.Observation
	size    int
	marks   []archive.Mark // are set with the next batch
	result  Result
}

func newRun(a *archive.Archive, o Options) *run {
	if o.Account == "" {
		o.Account = "import"
	}
	if o.store == nil {
		o.store = &storeState{}
	}
	return &run{archive: a, Options: o}
}

func (im *run) reject(line int, err error) {
	im.result.Wrong = addWrong(im.result.Wrong, Wrong{Line: line, Err: err})
}

func (im *run) add(ctx context.Context, line int, raw []byte) error {
	o, err := archive.FromMeeting(im.Account, archive.SourceImport, im.At, raw)
	if err != nil {
		im.reject(line, err)
		return ctx.Err()
	}
	if archive.IsForeignID(o.RecordingID) {
		if err := im.identifyExported(ctx, &o); err != nil {
			return err
		}
	}
	im.batch = append(im.batch, o)
	im.size += len(raw)
	if len(im.batch) < batchSize && im.size < maxBatchBytes {
		return nil
	}
	return im.flush(ctx)
}

func (im *run) flush(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	forgotten, _, err := im.archive.Tombstones(ctx)
	if err != nil {
		return err
	}
	for _, o := range im.batch {
		if _, ok := slices.BinarySearch(forgotten, o.RecordingID); ok {
			im.result.Forgotten++
		}
	}
	applied, err := im.archive.Apply(ctx, im.batch, im.marks...)
	if err != nil {
		return err
	}
	im.result.Read += len(im.batch)
	im.result.New += applied.New
	im.result.Changed += len(applied.Changed)
	im.batch, im.size, im.marks = nil, 0, nil
	if im.Progress != nil {
		im.Progress(im.result.Read)
	}
	return nil
}
