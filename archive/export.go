package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/internal/durable"
)

// ExportFormat is the form of exported meetings.
type ExportFormat string

// The formats of Export.
const (
	ExportMarkdown ExportFormat = "md"     // meetings/*.md with front matter, people/*.md, index.md
	ExportJSON     ExportFormat = "json"   // meetings/*.json in the service's shape
	ExportNDJSON   ExportFormat = "ndjson" // meetings.ndjson, a meeting a line, in the service's shape
	ExportVTT      ExportFormat = "vtt"    // meetings/*.vtt, WebVTT subtitles
	ExportSRT      ExportFormat = "srt"    // meetings/*.srt, SubRip subtitles
	ExportText     ExportFormat = "txt"    // meetings/*.txt, for reading
	ExportHTML     ExportFormat = "html"   // a static site: index.html, meetings/*.html, people/*.html
)

// ExportFormats returns all formats.
func ExportFormats() []ExportFormat {
	return []ExportFormat{ExportMarkdown, ExportJSON, ExportNDJSON, ExportVTT, ExportSRT, ExportText, ExportHTML}
}

// ExportOptions say what to export and where to.
type ExportOptions struct {
	Dir    string // made when missing; files of earlier exports in it are brought up to date
	Format ExportFormat
	IDs    []int64 // these meetings; nil means all, gone ones included
	// Recipients, when there are any, have every file encrypted for them; file
	// names then tell nothing but the recording_id.
	Recipients []age.Recipient
	// Site renders the pages of ExportHTML and is needed for it alone.
	Site Site
	// Progress, when set, is called after each meeting, one call at a time.
	Progress func(done int)
}

// ExportResult is what an export did, in files.
type ExportResult struct {
	Meetings  int `json:"meetings"`  // exported
	Written   int `json:"written"`   // new or changed files
	Unchanged int `json:"unchanged"` // files that were left as they are
	Removed   int `json:"removed"`   // files of meetings that were forgotten since
	Skipped   int `json:"skipped"`   // meetings without a transcript, for subtitles
}

// ExportedMeeting is a meeting as formats and sites render it.
type ExportedMeeting struct {
	Row     *Row
	Meeting *api.Meeting     // all but its transcript
	Entries []Entry          // the transcript
	People  []ExportedPerson // who was invited, spoke or recorded it
	File    string           // path below the export's directory, with slashes
}

// Export writes meetings into a directory. A meeting keeps the file name of its
// first export there, and a file whose content would be the same is not
// touched: run again, it writes what changed. What was forgotten since is
// removed. Each file is whole at any moment; a run that was interrupted is
// completed by the next. It fails with ErrNotFound or ErrForgotten when one of
// the asked meetings is not there, with nothing written for that meeting.
func (a *Archive) Export(ctx context.Context, o ExportOptions) (ExportResult, error) {
	x, err := a.newExport(ctx, o)
	if err != nil {
		return ExportResult{}, fmt.Errorf("export to %s: %w", o.Dir, err)
	}
	if o.Format == ExportNDJSON {
		err = x.lines(ctx)
	} else {
		err = x.files(ctx)
	}
	// What was written is recorded even when the run did not come to its end.
	err = errors.Join(err, x.ledger.close())
	if err != nil {
		return x.result, fmt.Errorf("export to %s: %w", o.Dir, err)
	}
	return x.result, nil
}

// export is one run of Export.
type export struct {
	ExportOptions
	archive *Archive
	ledger  *exportLedger
	render  func(io.Writer, *ExportedMeeting) error

	mu     sync.Mutex // guards result while files are written
	result ExportResult
}

func (a *Archive) newExport(ctx context.Context, o ExportOptions) (*export, error) {
	x := &export{ExportOptions: o, archive: a}
	switch o.Format {
	case ExportMarkdown:
		x.render = RenderMarkdown
	case ExportJSON, ExportNDJSON: // need no rendering
	case ExportVTT:
		x.render = RenderVTT
	case ExportSRT:
		x.render = renderSRT
	case ExportText:
		x.render = RenderText
	case ExportHTML:
		if o.Site == nil {
			return nil, errors.New("format html needs a site to render it")
		}
		x.render = o.Site.Meeting
	default:
		return nil, fmt.Errorf("unknown format %q; there are %v", o.Format, ExportFormats())
	}
	if err := durable.MkdirAll(o.Dir); err != nil {
		return nil, err
	}
	var err error
	x.ledger, err = openLedger(ctx, o.Dir)
	return x, err
}

// files exports a file a meeting, several at a time, and the pages around them.
func (x *export) files(ctx context.Context) error {
	if err := durable.MkdirAll(x.path("meetings")); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	err := x.archive.eachExported(gctx, x.IDs, func(row *Row) error {
		g.Go(func() error {
			if err := x.one(gctx, row); err != nil {
				return fmt.Errorf("meeting %d: %w", row.RecordingID, err)
			}
			return nil
		})
		return nil
	})
	if err = errors.Join(g.Wait(), err); err != nil {
		return err
	}
	if err := x.forget(ctx); err != nil {
		return err
	}
	return x.around(ctx)
}

// one exports one meeting into its file.
func (x *export) one(ctx context.Context, row *Row) error {
	m, render, err := x.read(ctx, row)
	if err != nil {
		return err
	}
	if (x.Format == ExportVTT || x.Format == ExportSRT) && len(m.Entries) == 0 {
		x.count(func(r *ExportResult) { r.Meetings++; r.Skipped++ })
		return nil
	}
	if m.File, err = x.ledger.name(x.Format, row, len(x.Recipients) > 0); err != nil {
		return err
	}
	if err := x.list(m); err != nil {
		return err
	}
	f := &exportedFile{What: strconv.FormatInt(row.RecordingID, 10), Format: x.Format, Name: m.File}
	if err := x.write(f, render); err != nil {
		return err
	}
	x.count(func(r *ExportResult) { r.Meetings++ })
	return nil
}

// read reads a meeting and says how to write it.
func (x *export) read(ctx context.Context, row *Row) (*ExportedMeeting, func(io.Writer) error, error) {
	if x.Format == ExportJSON {
		raw, err := x.archive.MeetingJSON(ctx, row.RecordingID)
		return &ExportedMeeting{Row: row}, func(w io.Writer) error { return renderJSON(w, raw) }, err
	}
	m, err := x.archive.Exported(ctx, row)
	return m, func(w io.Writer) error { return x.render(w, m) }, err
}

// lists tells whether the export has pages around those of the meetings. There
// are none in a sealed one: they would tell, and so would the ledger.
func (x *export) lists() bool {
	return (x.Format == ExportMarkdown || x.Format == ExportHTML) && len(x.Recipients) == 0
}

// list enters a meeting for the pages around it, and gives its people theirs.
func (x *export) list(m *ExportedMeeting) error {
	if !x.lists() {
		return x.ledger.unlist(x.Format, m.Row.RecordingID)
	}
	if err := x.ledger.pages(m.People, x.Format); err != nil {
		return err
	}
	return x.ledger.enlist(x.Format, m)
}

func (x *export) count(add func(*ExportResult)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.result.Meetings
	add(&x.result)
	if x.Progress != nil && x.result.Meetings > before {
		x.Progress(x.result.Meetings)
	}
}

// Exported reads a meeting for rendering. It fails with ErrNotFound or
// ErrForgotten.
func (a *Archive) Exported(ctx context.Context, row *Row) (*ExportedMeeting, error) {
	notes, err := a.Notes(ctx, row.RecordingID)
	if err != nil {
		return nil, err
	}
	entries, err := a.Entries(ctx, row.RecordingID, 0, -1)
	if err != nil {
		return nil, err
	}
	m := &ExportedMeeting{Row: row, Meeting: notes, Entries: entries}
	m.People = peopleOf(m)
	return m, nil
}

// exportPage is how many rows are read at a time.
const exportPage = 500

// eachExported calls fn for each of the asked meetings, or for all, newest first.
func (a *Archive) eachExported(ctx context.Context, ids []int64, fn func(*Row) error) error {
	if ids != nil {
		return a.eachAsked(ctx, ids, fn)
	}
	q := ListQuery{Viewer: Viewer{All: true}, IncludeGone: true, Limit: exportPage}
	for {
		rows, err := a.List(ctx, q)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := errors.Join(ctx.Err(), fn(row)); err != nil {
				return err
			}
		}
		key := rows[len(rows)-1].Key()
		q.Cursor = &key
	}
}

func (a *Archive) eachAsked(ctx context.Context, ids []int64, fn func(*Row) error) error {
	for _, id := range ids {
		row, err := a.Row(ctx, id)
		if err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), fn(row)); err != nil {
			return err
		}
	}
	return nil
}

// heading is a meeting's title, or a word in its place.
func (m *ExportedMeeting) heading() string { return titleOr(m.Row.Title) }

func titleOr(title string) string {
	if title = oneLine(title); title != "" {
		return title
	}
	return "Untitled"
}

// length is a recording's length, 0 when it is not known.
func (m *ExportedMeeting) length() time.Duration {
	if m.Row.Start.IsZero() || !m.Row.End.After(m.Row.Start) {
		return 0
	}
	return m.Row.End.Sub(m.Row.Start)
}
