package mcp

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"minutebook/api"
	"minutebook/archive"
)

type meetingArgs struct {
	RecordingID int64 `json:"recording_id" jsonschema:"as other tools name it"`
}

type meetingAnswer struct {
	head
	Team        string       `json:"team,omitempty"`
	Language    string       `json:"language,omitempty"`
	Invited     []invited    `json:"invited,omitempty"`
	Summary     string       `json:"summary,omitempty" jsonschema:"Markdown"`
	ActionItems []actionItem `json:"action_items,omitempty"`
	Highlights  []highlight  `json:"highlights,omitempty"`
	Entries     int          `json:"transcript_entries"`
	Cut         bool         `json:"cut,omitempty" jsonschema:"it was too long: the ends of the summary and of lists are left out, and stand on the page"`
}

type invited struct {
	Name     string `json:"name,omitempty"`
	Email    string `json:"email,omitempty"`
	External bool   `json:"external,omitempty"`
}

type actionItem struct {
	Description string `json:"description"`
	Done        bool   `json:"done"`
	Assignee    string `json:"assignee,omitempty"`
	At          string `json:"at,omitempty" jsonschema:"HH:MM:SS into the recording"`
	URL         string `json:"url,omitempty" jsonschema:"that second on the archive's page"`
}

type highlight struct {
	Type    string `json:"type,omitempty"`
	Summary string `json:"summary,omitempty"`
	Text    string `json:"text,omitempty"`
	At      string `json:"at" jsonschema:"HH:MM:SS into the recording"`
	URL     string `json:"url,omitempty" jsonschema:"that second on the archive's page"`
}

func (s *Server) getMeeting(ctx context.Context, _ *sdk.CallToolRequest, a meetingArgs) (*sdk.CallToolResult, meetingAnswer, error) {
	row, err := s.openMeeting(ctx, a.RecordingID)
	if err != nil {
		return nil, meetingAnswer{}, s.publicError("reading the meeting", err)
	}
	m, err := s.Archive.Meeting(ctx, s.ViewerOf(ctx), a.RecordingID)
	if err != nil {
		return nil, meetingAnswer{}, s.publicError("reading the meeting", err)
	}
	out := meetingAnswer{head: s.head(row), Team: m.RecordedBy.Team.Or(""), Language: m.TranscriptLanguage,
		Entries: row.Entries}
	view, err := s.view(ctx)
	if err != nil {
		return nil, meetingAnswer{}, s.publicError("reading the meeting", err)
	}
	items, err := s.Archive.ActionItems(ctx, archive.ActionQuery{Viewer: s.ViewerOf(ctx), RecordingID: a.RecordingID})
	if err != nil {
		return nil, meetingAnswer{}, s.publicError("reading the meeting", err)
	}
	for _, i := range m.CalendarInvitees {
		if i.Name.Or("") != "" || i.Email.Or("") != "" {
			out.Invited = append(out.Invited, invited{i.Name.Or(""), i.Email.Or(""), i.IsExternal})
		}
	}
	summary := m.DefaultSummary.Or(api.Summary{}).MarkdownFormatted.Or("")
	out.Summary = cutText(summary, maxPart)
	for _, row := range items {
		out.ActionItems = append(out.ActionItems, s.actionItem(view, row))
	}
	for _, h := range m.Highlights.Or(nil) {
		at := api.ToOffset(h.StartTime)
		out.Highlights = append(out.Highlights, highlight{h.Type, shorten(h.Summary.Or("")), shorten(h.Text.Or("")), api.FormatOffset(at), s.link(row.RecordingID, at)})
	}
	n := len(out.Invited) + len(out.ActionItems) + len(out.Highlights)
	out.Invited, out.ActionItems, out.Highlights = cutList(out.Invited), cutList(out.ActionItems), cutList(out.Highlights)
	out.Cut = len(out.Summary) < len(summary) || len(out.Invited)+len(out.ActionItems)+len(out.Highlights) < n
	return nil, out, nil
}

type transcriptArgs struct {
	RecordingID int64  `json:"recording_id" jsonschema:"as other tools name it"`
	From        string `json:"from,omitempty" jsonschema:"HH:MM:SS into the recording, or next_from of the piece before; default its start"`
	To          string `json:"to,omitempty" jsonschema:"HH:MM:SS; default the end"`
}

type transcriptAnswer struct {
	head
	Entries  []utterance `json:"entries"`
	NextFrom string      `json:"next_from,omitempty" jsonschema:"from of the next piece; absent at the end"`
}

type utterance struct {
	At      string `json:"at"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	URL     string `json:"url,omitempty" jsonschema:"this second on the archive's page"`
}

func (s *Server) readTranscript(ctx context.Context, _ *sdk.CallToolRequest, a transcriptArgs) (*sdk.CallToolResult, transcriptAnswer, error) {
	from, first, skipped, err := parseFrom(a.From)
	to := time.Duration(math.MaxInt64)
	if err == nil && a.To != "" {
		if to, err = api.ParseOffset(a.To); err != nil {
			err = errors.New("to is a time into the recording, as HH:MM:SS")
		}
	}
	if err != nil {
		return nil, transcriptAnswer{}, err
	}
	row, err := s.openMeeting(ctx, a.RecordingID)
	if err != nil {
		return nil, transcriptAnswer{}, s.publicError("reading the transcript", err)
	}
	entries, err := s.Archive.Entries(ctx, a.RecordingID, first, -1)
	if err != nil {
		return nil, transcriptAnswer{}, s.publicError("reading the transcript", err)
	}
	out := transcriptAnswer{head: s.head(row), Entries: []utterance{}}
	size := 0
	for _, e := range entries {
		if e.Offset < from || e.Offset.Truncate(time.Second) > to { // as it is shown
			continue
		}
		from = 0 // from here on in the order of the transcript, whose times may go back
		if size > maxText {
			out.NextFrom = entryMark + strconv.Itoa(e.Index)
			break
		}
		begin := min(skipped, len(e.Text))
		skipped = 0
		u := utterance{api.FormatOffset(e.Offset), e.Speaker, cutText(e.Text[begin:], maxText), s.link(row.RecordingID, e.Offset)}
		out.Entries = append(out.Entries, u)
		size += measure(u)
		if end := begin + len(u.Text); end < len(e.Text) {
			out.NextFrom = entryMark + strconv.Itoa(e.Index) + byteMark + strconv.Itoa(end)
			break
		}
	}
	return nil, out, nil
}

// entryMark begins a place in a transcript that is an entry and not a time: times go back,
// and entries share a second. In a very long entry byteMark begins the place in its text.
const (
	entryMark = "#"
	byteMark  = "+"
)

// parseFrom reads where a piece begins: a time, or an entry by its index and the bytes that
// are skipped of its text.
func parseFrom(text string) (from time.Duration, first, skipped int, err error) {
	place, isEntry := strings.CutPrefix(text, entryMark)
	switch {
	case isEntry:
		index, bytes, isInside := strings.Cut(place, byteMark)
		if first, err = strconv.Atoi(index); err == nil && isInside {
			skipped, err = strconv.Atoi(bytes)
		}
	case text != "":
		from, err = api.ParseOffset(text)
	}
	if err != nil || skipped < 0 {
		return 0, 0, 0, errors.New("from is a time into the recording, as HH:MM:SS, or next_from of the piece before")
	}
	return from, first, skipped, nil
}
