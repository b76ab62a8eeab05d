package export

import (
	"context"
	"errors"

	"minutebook/api"
	"minutebook/archive"
)

// Meeting is a meeting as formats and sites render it.
type Meeting struct {
	Row     *archive.Row
	Notes   *api.Meeting    // without its transcript
	Entries []archive.Entry // the transcript
	People  []Person        // who was invited, spoke or recorded it
	Added   Added           // by people, to this archive
	File    string          // path below the export's directory, with slashes
}

// Read reads the meeting of a row for rendering, with the CRM matches that viewer may see. The
// caller has asked whether viewer sees the meeting. It fails with [archive.ErrNotFound] or
// [archive.ErrForgotten].
func Read(ctx context.Context, a *archive.Archive, viewer archive.Viewer, row *archive.Row) (*Meeting, error) {
	notes, err := a.NotesFor(ctx, viewer, row.RecordingID)
	if err != nil {
		return nil, err
	}
	entries, err := a.Entries(ctx, row.RecordingID, 0, -1)
	if err != nil {
		return nil, err
	}
	m := &Meeting{Row: row, Notes: notes, Entries: entries}
	m.People = peopleOf(m)
	return m, nil
}

// heading returns a meeting's title, or a word in its place.
func (m *Meeting) heading() string { return titleOr(m.Row.Title) }

func titleOr(title string) string {
	if title = oneLine(title); title != "" {
		return title
	}
	return "Untitled"
}

// pageSize is the number of rows that are read at a time.
const pageSize = 500

// eachMeeting calls fn for each of the wanted meetings, or for all, newest first. It goes
// on after those that are forgotten meanwhile.
func eachMeeting(ctx context.Context, a *archive.Archive, ids []int64, fn func(*archive.Row) error) error {
	if ids != nil {
		return eachOf(ctx, a, ids, fn)
	}
	q := archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true, Limit: pageSize}
	for {
		rows, err := a.List(ctx, q)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := errors.Join(ctx.Err(), skipForgotten(fn(row))); err != nil {
				return err
			}
		}
		key := rows[len(rows)-1].Key()
		q.Cursor = &key
	}
}

// eachOf calls fn for each of the wanted meetings.
func eachOf(ctx context.Context, a *archive.Archive, ids []int64, fn func(*archive.Row) error) error {
	for _, id := range ids {
		row, err := a.Row(ctx, id)
		if err == nil {
			err = fn(row)
		}
		if err := errors.Join(ctx.Err(), skipForgotten(err)); err != nil {
			return err
		}
	}
	return nil
}

// skipForgotten returns nil for the error of a meeting that was forgotten while the
// export ran, and otherwise err.
func skipForgotten(err error) error {
	if errors.Is(err, archive.ErrForgotten) {
		return nil
	}
	return err
}
