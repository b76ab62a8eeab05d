package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/civil"
)

// The tables of [Parquet]. Every one has the month of the meeting in the names of its
// folders, month=2026-03, which engines read as a column. Times are UTC.
type (
	// MeetingRow is a row of the table meetings.
	MeetingRow struct {
		RecordingID     int64      `parquet:"recording_id"`
		Title           string     `parquet:"title"`
		MeetingType     string     `parquet:"meeting_type,dict"`
		Start           *time.Time `parquet:"recording_start_time,optional,timestamp(millisecond)"`
		End             *time.Time `parquet:"recording_end_time,optional,timestamp(millisecond)"`
		ScheduledStart  *time.Time `parquet:"scheduled_start_time,optional,timestamp(millisecond)"`
		ScheduledEnd    *time.Time `parquet:"scheduled_end_time,optional,timestamp(millisecond)"`
		CreatedAt       *time.Time `parquet:"created_at,optional,timestamp(millisecond)"`
		URL             string     `parquet:"url"`
		Language        string     `parquet:"transcript_language,dict"`
		SharedWith      string     `parquet:"shared_with,dict"`
		RecordedByName  string     `parquet:"recorded_by_name,dict"`
		RecordedByEmail string     `parquet:"recorded_by_email,dict"`
		RecordedByTeam  string     `parquet:"recorded_by_team,dict"`
		Summary         string     `parquet:"summary"` // Markdown
		Entries         int32      `parquet:"entries"`
		Words           int32      `parquet:"words"`
		HasVideo        bool       `parquet:"has_video"`
		HasAudio        bool       `parquet:"has_audio"`
		Gone            bool       `parquet:"gone"` // no account sees it any more
	}

	// EntryRow is a row of the table entries: an utterance.
	EntryRow struct {
		RecordingID int64   `parquet:"recording_id"`
		Index       int32   `parquet:"entry"` // from 0
		Offset      float64 `parquet:"offset_seconds"`
		Speaker     string  `parquet:"speaker,dict"`
		Email       string  `parquet:"email,dict"`
		Text        string  `parquet:"text"`
	}

	// PersonRow is a row of the table people: somebody who recorded a meeting, was
	// invited to it or spoke in it.
	PersonRow struct {
		RecordingID int64  `parquet:"recording_id"`
		Name        string `parquet:"name,dict"`
		Email       string `parquet:"email,dict"`
		Recorded    bool   `parquet:"recorded"`
		Invited     bool   `parquet:"invited"`
		Spoke       bool   `parquet:"spoke"`
	}

	// ActionItemRow is a row of the table action_items.
	ActionItemRow struct {
		RecordingID   int64    `parquet:"recording_id"`
		Index         int32    `parquet:"item"` // from 0
		Description   string   `parquet:"description"`
		AssigneeName  string   `parquet:"assignee_name,dict"`
		AssigneeEmail string   `parquet:"assignee_email,dict"`
		Offset        *float64 `parquet:"offset_seconds,optional"` // nil: not known
		Completed     bool     `parquet:"completed"`
		UserGenerated bool     `parquet:"user_generated"`
	}
)

// noMonth is the partition of meetings whose time is not known.
const noMonth = "unknown"

// writeMonths writes the files of all months that have wanted meetings.
func (x *tableRun) writeMonths(ctx context.Context) error {
	done := map[string]bool{}
	var month string
	var rows []*archive.Row
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		if done[month] {
			return fmt.Errorf("month %s came twice: the archive changed its order meanwhile; run it again", month)
		}
		done[month] = true
		return x.writeMonth(ctx, month, rows)
	}
	wanted := map[int64]bool{}
	for _, id := range x.IDs {
		wanted[id] = true
	}
	err := eachMeeting(ctx, x.archive, nil, func(row *archive.Row) error {
		if x.IDs != nil && !wanted[row.RecordingID] {
			return nil
		}
		if next := monthOf(row); next != month {
			if err := flush(); err != nil {
				return err
			}
			month, rows = next, nil
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// monthOf returns the partition of a meeting, by the time that orders meetings.
func monthOf(row *archive.Row) string {
	at := row.Key().Start
	if !civil.IsKnown(at) {
		return noMonth
	}
	return at.UTC().Format("2006-01")
}

// writeMonth writes the files of a month. Transcripts are read one by one.
func (x *tableRun) writeMonth(ctx context.Context, month string, rows []*archive.Row) error {
	slices.SortFunc(rows, func(a, b *archive.Row) int { return int(min(max(a.RecordingID-b.RecordingID, -1), 1)) })
	var meetings []MeetingRow
	var people []PersonRow
	var items []ActionItemRow
	err := writeTable(ctx, x, "entries", month, func(w *parquet.GenericWriter[EntryRow]) error {
		for _, row := range rows {
			m, err := Read(ctx, x.archive, archive.Viewer{All: true}, row)
			if errors.Is(err, archive.ErrForgotten) {
				continue // since its month was listed
			}
			if err != nil {
				return fmt.Errorf("meeting %d: %w", row.RecordingID, err)
			}
			meetings, people = append(meetings, meetingRow(m)), append(people, personRows(m)...)
			items = append(items, actionItemRows(m)...)
			if _, err := w.Write(entryRows(m)); err != nil {
				return err
			}
			if x.result.Meetings++; x.Progress != nil {
				x.Progress(x.result.Meetings)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(writeRows(ctx, x, "meetings", month, meetings), writeRows(ctx, x, "people", month, people),
		writeRows(ctx, x, "action_items", month, items))
}

func writeRows[T any](ctx context.Context, x *tableRun, table, month string, rows []T) error {
	return writeTable(ctx, x, table, month, func(w *parquet.GenericWriter[T]) error {
		_, err := w.Write(rows)
		return err
	})
}

func meetingRow(m *Meeting) MeetingRow {
	r, summary := m.Row, ""
	if s, ok := m.Notes.DefaultSummary.Get(); ok {
		summary = s.MarkdownFormatted.Or("")
	}
	return MeetingRow{RecordingID: r.RecordingID, Title: r.Title, MeetingType: r.MeetingType, Start: stampOf(r.Start), End: stampOf(r.End),
		ScheduledStart: stampOf(r.ScheduledStart), ScheduledEnd: stampOf(r.ScheduledEnd), CreatedAt: stampOf(r.CreatedAt), URL: r.URL,
		Language: r.Language, SharedWith: r.SharedWith, RecordedByName: r.RecordedBy.Name, RecordedByEmail: r.RecordedBy.Email,
		RecordedByTeam: r.RecordedBy.Team.Or(""), Summary: summary, Entries: int32(r.Entries), Words: int32(r.Words),
		HasVideo: r.HasVideo, HasAudio: r.HasAudio, Gone: r.Gone}
}

func stampOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func entryRows(m *Meeting) []EntryRow {
	rows := make([]EntryRow, len(m.Entries))
	for i, e := range m.Entries {
		rows[i] = EntryRow{m.Row.RecordingID, int32(e.Index), e.Offset.Seconds(), e.Speaker, e.Email, e.Text}
	}
	return rows
}

func personRows(m *Meeting) (rows []PersonRow) {
	is := func(p Person, name, email string) bool {
		other, ok := personOf(name, email)
		return ok && (other.key == p.key || other.Email == "" && other.Name == p.Name)
	}
	for _, p := range m.People {
		rows = append(rows, PersonRow{m.Row.RecordingID, p.Name, p.Email,
			is(p, m.Notes.RecordedBy.Name, m.Notes.RecordedBy.Email),
			slices.ContainsFunc(m.Notes.CalendarInvitees, func(in api.Invitee) bool { return is(p, in.Name.Or(""), in.Email.Or("")) }),
			slices.ContainsFunc(m.Entries, func(e archive.Entry) bool { return is(p, e.Speaker, e.Email) })})
	}
	return rows
}

func actionItemRows(m *Meeting) (rows []ActionItemRow) {
	for i, item := range m.Notes.ActionItems.Or(nil) {
		assignee := item.Assignee.Or(api.Assignee{})
		row := ActionItemRow{m.Row.RecordingID, int32(i), item.Description, assignee.Name.Or(""), assignee.Email.Or(""),
			nil, item.Completed, item.UserGenerated}
		if at, err := api.ParseOffset(item.RecordingTimestamp); err == nil {
			seconds := at.Seconds()
			row.Offset = &seconds
		}
		rows = append(rows, row)
	}
	return rows
}
