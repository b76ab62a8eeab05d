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
	Gone        bool         `json:"gone,omitempty" jsonschema:"the service does not show it any more"`
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
		Entries: row.Entries, Gone: row.Gone}
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
	out.Summary = m.DefaultSummary.Or(api.Summary{}).MarkdownFormatted.Or("")
	for _, row := range items {
		out.ActionItems = append(out.ActionItems, s.actionItem(view, row))
	}
	for _, h := range m.Highlights.Or(nil) {
		at := time.Duration(h.StartTime * float64(time.Second))
		out.Highlights = append(out.Highlights, highlight{h.Type, h.Summary.Or(""), h.Text.Or(""), api.FormatOffset(at), s.link(row.RecordingID, at)})
	}
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

// maxText is the length of the talk in one answer, in bytes: some ten minutes.
const maxText = 12_000

func (s *Server) readTranscript(ctx context.Context, _ *sdk.CallToolRequest, a transcriptArgs) (*sdk.CallToolResult, transcriptAnswer, error) {
	from, first, err := parseFrom(a.From)
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
		if e.Offset < from || e.Offset > to {
			continue
		}
		from = 0 // from here on in the order of the transcript, whose times may go back
		if size > maxText {
			out.NextFrom = entryMark + strconv.Itoa(e.Index)
			break
		}
		size += len(e.Text)
		out.Entries = append(out.Entries, utterance{api.FormatOffset(e.Offset), e.Speaker, e.Text, s.link(row.RecordingID, e.Offset)})
	}
	return nil, out, nil
}

// entryMark begins a place in a transcript that is an entry and not a time: times go back,
// and entries share a second.
const entryMark = "#"

// parseFrom reads where a piece begins: a time, or an entry by its index.
func parseFrom(text string) (from time.Duration, first int, err error) {
	index, isEntry := strings.CutPrefix(text, entryMark)
	switch {
	case isEntry:
		first, err = strconv.Atoi(index)
	case text != "":
		from, err = api.ParseOffset(text)
	}
	if err != nil {
		return 0, 0, errors.New("from is a time into the recording, as HH:MM:SS, or next_from of the piece before")
	}
	return from, first, nil
}
