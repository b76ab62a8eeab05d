package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/durable"
)

// run is one run of [Run].
type run struct {
	Options
	archive *archive.Archive
	ledger  *ledger
	render  func(io.Writer, *Meeting) error
	sameIDs map[int64][]int64 // for JSON and NDJSON: see [archive.ImportedAs]

	mu     sync.Mutex // guards result while files are written
	result Result
}

func newRun(ctx context.Context, a *archive.Archive, o Options) (*run, error) {
	x := &run{Options: o, archive: a}
	var err error
	switch o.Format {
	case Markdown:
		x.render = WriteMarkdown
	case JSON, NDJSON: // need no rendering
		if x.sameIDs, err = readSameIDs(ctx, a); err != nil {
			return nil, err
		}
	case VTT:
		x.render = WriteVTT
	case SRT:
		x.render = WriteSRT
	case Text:
		x.render = WriteText
	case HTML:
		if o.Site == nil {
			return nil, errors.New("format html needs a site to render it")
		}
		x.render = o.Site.Meeting
	default:
		return nil, fmt.Errorf("unknown format %q; there are %v", o.Format, Formats())
	}
	if err := durable.MkdirAll(o.Dir); err != nil {
		return nil, err
	}
	if x.ledger, err = openLedger(ctx, o.Dir); err != nil {
		return nil, err
	}
	if err := sweepUnfinished(o.Dir); err != nil {
		return nil, errors.Join(err, x.ledger.close())
	}
	return x, nil
}

// writeMeetings writes one file for each meeting, several at a time.
func (x *run) writeMeetings(ctx context.Context) error {
	if err := durable.MkdirAll(x.path("meetings")); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	err := eachMeeting(gctx, x.archive, x.IDs, func(row *archive.Row) error {
		g.Go(func() error {
			if err := skipForgotten(x.writeMeeting(gctx, row)); err != nil {
				return fmt.Errorf("meeting %d: %w", row.RecordingID, err)
			}
			return nil
		})
		return nil
	})
	if failed := g.Wait(); failed != nil {
		return failed // which ended the reading of the others
	}
	return err
}

// writeJoined removes the files of forgotten meetings, and writes those files that have
// something of several meetings.
func (x *run) writeJoined(ctx context.Context) error {
	err := x.removeForgotten(ctx)
	if err == nil && x.Format == NDJSON {
		err = x.writeLines(ctx)
	} else if err == nil {
		err = x.writePages(ctx)
	}
	if err == nil && x.Notes != nil && (x.Format == JSON || x.Format == NDJSON) {
		err = x.writeNotes(ctx)
	}
	return err
}

// settle writes files that join meetings, and writes them again while meetings are
// forgotten: a meeting may have been read just before. So an export that has ended has
// nothing of a meeting that was forgotten before the end. A file that is written twice
// counts twice.
func settle(ctx context.Context, a *archive.Archive, result *Result, write func(context.Context) error) error {
	counted := *result
	before, _, err := a.Tombstones(ctx)
	for err == nil {
		if err = write(ctx); err != nil {
			return err
		}
		var after []int64
		if after, _, err = a.Tombstones(ctx); slices.Equal(after, before) {
			return err
		}
		before = after
		result.Meetings, result.Unchanged = counted.Meetings, counted.Unchanged
	}
	return err
}

// writeMeeting writes the file of one meeting.
func (x *run) writeMeeting(ctx context.Context, row *archive.Row) error {
	m, render, err := x.read(ctx, row)
	if err != nil {
		return err
	}
	if (x.Format == VTT || x.Format == SRT) && len(m.Entries) == 0 {
		x.count(func(r *Result) { r.Meetings++; r.Skipped++ })
		return nil
	}
	if m.File, err = x.ledger.fileName(x.Format, row, len(x.Recipients) > 0); err != nil {
		return err
	}
	if err := x.enter(m); err != nil {
		return err
	}
	f := &file{What: strconv.FormatInt(row.RecordingID, 10), Format: x.Format, Name: m.File}
	if err := x.writeFile(ctx, f, render); err != nil {
		return err
	}
	x.count(func(r *Result) { r.Meetings++ })
	return nil
}

// read reads a meeting and returns it with its renderer.
func (x *run) read(ctx context.Context, row *archive.Row) (*Meeting, func(io.Writer) error, error) {
	if x.Format == JSON {
		raw, err := x.meetingJSON(ctx, row.RecordingID)
		return &Meeting{Row: row}, func(w io.Writer) error { return writeJSON(w, raw) }, err
	}
	m, err := Read(ctx, x.archive, archive.Viewer{All: true}, row)
	if err == nil && x.Notes != nil {
		var groups *notes.Groups
		if groups, err = x.Notes.Groups(ctx); err == nil {
			err = m.Add(ctx, x.Notes, x.Authors.Address, groups.Same)
		}
	}
	return m, func(w io.Writer) error { return x.render(w, m) }, err
}

// hasPages reports whether the export has pages around those of the meetings. An
// encrypted export has none: they, and the ledger, would show names and titles.
func (x *run) hasPages() bool {
	return (x.Format == Markdown || x.Format == HTML) && len(x.Recipients) == 0
}

// enter adds a meeting to the lists, and assigns a page to each of its people.
func (x *run) enter(m *Meeting) error {
	if !x.hasPages() {
		return x.ledger.removeMeeting(x.Format, m.Row.RecordingID)
	}
	if err := x.ledger.assignPages(m.People, x.Format); err != nil {
		return err
	}
	return x.ledger.addMeeting(x.Format, m)
}

// count updates the result and reports the progress.
func (x *run) count(add func(*Result)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.result.Meetings
	add(&x.result)
	if x.Progress != nil && x.result.Meetings > before {
		x.Progress(x.result.Meetings)
	}
}
