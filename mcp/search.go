package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/civil"
	"minutebook/search"
)

type searchArgs struct {
	Query   string `json:"query" jsonschema:"words, phrases and fields; empty finds every meeting"`
	Limit   int    `json:"limit,omitempty" jsonschema:"meetings in the answer, 1 to 50; default 10"`
	Moments int    `json:"moments,omitempty" jsonschema:"moments of each meeting, 1 to 20; default 3"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

type searchAnswer struct {
	Total      int     `json:"total" jsonschema:"meetings found"`
	AtLeast    bool    `json:"at_least,omitempty" jsonschema:"total is a lower bound"`
	Note       string  `json:"note,omitempty" jsonschema:"how the query was loosened, or that indexing is not done"`
	DidYouMean string  `json:"did_you_mean,omitempty"`
	Meetings   []found `json:"meetings"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

// head identifies a meeting in every answer.
type head struct {
	RecordingID int64  `json:"recording_id"`
	Title       string `json:"title"`
	Date        string `json:"date,omitempty" jsonschema:"when it was recorded; absent when that is not known"`
	Minutes     int    `json:"minutes,omitempty"`
	Type        string `json:"meeting_type,omitempty"`
	RecordedBy  string `json:"recorded_by,omitempty"`
	Gone        bool   `json:"gone,omitempty" jsonschema:"the service does not show it any more"`
	URL         string `json:"url,omitempty" jsonschema:"the meeting on the archive's page"`
}

type found struct {
	head
	Moments []moment `json:"moments"`
}

type moment struct {
	At      string `json:"at,omitempty" jsonschema:"HH:MM:SS into the recording"`
	Speaker string `json:"speaker,omitempty"`
	Text    string `json:"text"`
	Part    string `json:"part" jsonschema:"where it stands: transcript, default_summary, action_items, highlights, crm_matches, notes or meeting"`
	URL     string `json:"url,omitempty"`
}

func (s *Server) search(ctx context.Context, _ *sdk.CallToolRequest, a searchArgs) (*sdk.CallToolResult, searchAnswer, error) {
	request := search.Request{Query: a.Query, Viewer: s.ViewerOf(ctx),
		Limit: clampLimit(a.Limit, 10, 50), Moments: clampLimit(a.Moments, 3, 20), After: a.Cursor, Location: s.Location}
	if s.AddNotes != nil {
		s.AddNotes(ctx, &request)
	}
	answer, err := s.Index.Search(ctx, request)
	if err != nil {
		return nil, searchAnswer{}, s.publicError("search", err)
	}
	out := searchAnswer{Total: answer.Total, AtLeast: !answer.Exact, Note: answer.Relaxed,
		DidYouMean: answer.DidYouMean, Meetings: []found{}, NextCursor: answer.Next}
	switch p := answer.Progress; {
	case p.Indexed < p.Total:
		out.Note += fmt.Sprintf(" Only %d of %d meetings are indexed so far.", p.Indexed, p.Total)
	case p.Rebuilding && !s.ViewerOf(ctx).All:
		out.Note += " Not all meetings are indexed so far."
	}
	for _, h := range answer.Meetings {
		f := found{head: s.head(h.Row), Moments: []moment{}}
		for _, m := range h.Moments {
			v := moment{Speaker: m.Speaker, Text: shortenAround(m.Text, m.Snippet), Part: string(m.Part)}
			if m.Offset >= 0 {
				v.At, v.URL = api.FormatOffset(m.Offset), s.link(h.Row.RecordingID, m.Offset)
			}
			f.Moments = append(f.Moments, v)
		}
		out.Meetings = append(out.Meetings, f)
	}
	return nil, out, nil
}

// head returns the head of a meeting.
func (s *Server) head(r *archive.Row) head {
	h := head{RecordingID: r.RecordingID, Title: r.Title, Date: s.formatDate(r.Key().Start), Type: r.MeetingType,
		RecordedBy: r.RecordedBy.Name, Gone: r.Gone, URL: s.link(r.RecordingID, -1)}
	if h.Title == "" {
		h.Title = r.MeetingTitle
	}
	h.Minutes = int(r.Length().Round(time.Minute) / time.Minute)
	return h
}

// formatDate writes a time in the reader's zone, "" for one that is not known.
func (s *Server) formatDate(t time.Time) string {
	if !civil.IsKnown(t) {
		return ""
	}
	return t.In(s.Location).Format("2006-01-02 15:04 MST")
}

// link returns the address of a meeting on the page, or with at >= 0 of a moment
// of it.
func (s *Server) link(id int64, at time.Duration) string {
	if s.PageURL == "" {
		return ""
	}
	address := s.PageURL + "/meetings/" + strconv.FormatInt(id, 10)
	if at >= 0 {
		address += "?t=" + strconv.FormatInt(int64(at/time.Second), 10)
	}
	return address
}

// publicError returns an error for the assistant. It logs an inner error instead
// of returning it.
func (s *Server) publicError(action string, err error) error {
	var wrong *search.QueryError
	switch {
	case errors.As(err, &wrong):
		return wrong // it names the character, and says how to go on
	case errors.Is(err, search.ErrCursor):
		return errors.New("cursor is of another search: give the next_cursor of an answer to the same query")
	case errors.Is(err, archive.ErrNotFound):
		return errors.New("there is no such meeting in this archive; search_meetings finds its recording_id")
	case errors.Is(err, archive.ErrForgotten):
		return errors.New("this meeting was forgotten on purpose; nothing of it is kept")
	case errors.Is(err, context.Canceled):
		return err
	}
	s.Logger.Error().Err(err).Str("doing", action).Msg("answer an assistant")
	return failedInside(action)
}

// failedInside is the error for the assistant of an action that failed for no fault of its own.
func failedInside(action string) error {
	return fmt.Errorf("%s failed inside the archive; its log says why", action)
}

// clampLimit returns n between 1 and most, or def when n is 0.
func clampLimit(n, def, most int) int {
	if n == 0 {
		return def
	}
	return max(1, min(n, most))
}
