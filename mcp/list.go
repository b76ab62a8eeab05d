package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/internal/civil"
)

// errCursor is the error of a cursor that no answer had.
var errCursor = errors.New("cursor is not the next_cursor of an answer")

type listArgs struct {
	After  string `json:"after,omitempty" jsonschema:"YYYY-MM-DD, on or after this day"`
	Before string `json:"before,omitempty" jsonschema:"YYYY-MM-DD, before this day"`
	Type   string `json:"meeting_type,omitempty"`
	Team   string `json:"team,omitempty" jsonschema:"the recorder's team"`
	Person string `json:"person,omitempty" jsonschema:"name or e-mail address of a recorder, invitee or speaker"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 100; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

type listAnswer struct {
	Meetings   []head `json:"meetings"`
	NextCursor string `json:"next_cursor,omitempty"`
}

func (s *Server) listMeetings(ctx context.Context, _ *sdk.CallToolRequest, a listArgs) (*sdk.CallToolResult, listAnswer, error) {
	limit := clampLimit(a.Limit, 20, 100)
	q := archive.ListQuery{Viewer: s.ViewerOf(ctx), Type: a.Type, Team: a.Team, Person: a.Person, IncludeGone: true, Limit: limit + 1}
	var err error
	if q.After, err = s.parseDay(a.After); err == nil {
		q.Before, err = s.parseDay(a.Before)
	}
	if err != nil {
		return nil, listAnswer{}, err
	}
	if !q.After.IsZero() {
		q.After = q.After.Add(-time.Millisecond) // the day itself is meant too
	}
	if a.Cursor != "" {
		key, err := archive.ParseKey(a.Cursor)
		if err != nil {
			return nil, listAnswer{}, errCursor
		}
		q.Cursor = &key
	}
	if a.Person != "" {
		view, err := s.view(ctx)
		if err == nil {
			q.SamePerson, err = s.Roster.NamesOf(ctx, view, a.Person)
		}
		if err != nil {
			return nil, listAnswer{}, s.publicError("listing meetings", err)
		}
	}
	rows, err := s.Archive.List(ctx, q)
	if err != nil {
		return nil, listAnswer{}, s.publicError("listing meetings", err)
	}
	out := listAnswer{Meetings: []head{}}
	if len(rows) > limit {
		rows = rows[:limit]
		out.NextCursor = rows[limit-1].Key().String()
	}
	for _, r := range rows {
		out.Meetings = append(out.Meetings, s.head(r))
	}
	return nil, out, nil
}

// view returns how the roster answers the person.
func (s *Server) view(ctx context.Context) (roster.View, error) {
	if s.View == nil {
		return roster.View{Viewer: s.ViewerOf(ctx)}, nil
	}
	return s.View(ctx)
}

// parseDay reads a date in the reader's zone. An empty text is the zero time.
func (s *Server) parseDay(v string) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		return t, fmt.Errorf("%q is not a date such as 2026-03-05", v)
	}
	return civil.Day(t.Year(), t.Month(), t.Day(), s.Location), nil
}

type actionArgs struct {
	Person string `json:"person,omitempty" jsonschema:"the assignee's name or e-mail address; - for items without an assignee"`
	State  string `json:"state,omitempty" jsonschema:"open, done or all; default open"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 200; default 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

type actionAnswer struct {
	ActionItems []listedActionItem `json:"action_items"`
	NextCursor  string             `json:"next_cursor,omitempty"`
}

type listedActionItem struct {
	actionItem
	RecordingID int64  `json:"recording_id"`
	Title       string `json:"title" jsonschema:"of the meeting"`
	Date        string `json:"date,omitempty" jsonschema:"of the meeting; absent when it is not known"`
}

func (s *Server) listActionItems(ctx context.Context, _ *sdk.CallToolRequest, a actionArgs) (*sdk.CallToolResult, actionAnswer, error) {
	limit := clampLimit(a.Limit, 50, 200)
	q := roster.ItemQuery{Person: a.Person, State: roster.State(a.State), Limit: limit}
	switch q.State {
	case "":
		q.State = roster.Open
	case roster.Open, roster.Done, roster.All:
	default:
		return nil, actionAnswer{}, errors.New("state is open, done or all")
	}
	if a.Cursor != "" {
		key, err := archive.ParseActionKey(a.Cursor)
		if err != nil {
			return nil, actionAnswer{}, errCursor
		}
		q.After = &key
	}
	view, err := s.view(ctx)
	if err != nil {
		return nil, actionAnswer{}, s.publicError("listing action items", err)
	}
	list, err := s.Roster.Items(ctx, view, q)
	if err != nil {
		return nil, actionAnswer{}, s.publicError("listing action items", err)
	}
	rows, err := s.Archive.ActionItemsAt(ctx, list.Keys)
	if err != nil {
		return nil, actionAnswer{}, s.publicError("listing action items", err)
	}
	out := actionAnswer{ActionItems: []listedActionItem{}}
	for _, key := range list.Keys {
		i, ok := rows[key]
		if !ok {
			continue // it has just gone
		}
		out.ActionItems = append(out.ActionItems, listedActionItem{s.actionItem(view, i), i.RecordingID, i.Title, s.formatDate(i.Start)})
	}
	if list.More {
		out.NextCursor = list.Last.String()
	}
	return nil, out, nil
}

// actionItem returns an action item, which may have been done here.
func (s *Server) actionItem(view roster.View, row archive.ActionRow) actionItem {
	_, ticked := view.Ticks[notes.NewItem(row.RecordingID, row.Offset, row.Description)]
	item := actionItem{Description: shorten(row.Description), Done: row.Completed || ticked, Assignee: cmp.Or(row.Assignee, row.Email),
		URL: s.link(row.RecordingID, row.Offset)}
	if row.Offset >= 0 {
		item.At = api.FormatOffset(row.Offset)
	}
	return item
}
