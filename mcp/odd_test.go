package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
)

// TestUnknownValuesAreNotInvented reads a meeting without a date, with blank people and an
// action item without a time that was done here: no answer has a date, a time or a state of
// its own making, and the tools say the same.
func TestUnknownValuesAreNotInvented(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	archivetest.Apply(t, s.Archive, archivetest.Epoch, []byte(`{"recording_id":1,"title":"Odd","calendar_invitees":[null,{},{"name":"Bén"}],
		"action_items":[{"description":"call","assignee":{"name":"","email":"bob@x.example"},"recording_timestamp":"99:99:99"}]}`))
	if err := s.Index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	added, err := notes.Open(t.Context(), notes.Options{Archive: s.Archive})
	if err != nil {
		t.Fatal(err)
	}
	if err := added.Tick(t.Context(), notes.Owner, notes.Item{RecordingID: 1, At: -1, Text: "call"}); err != nil {
		t.Fatal(err)
	}
	s.View = func(ctx context.Context) (v roster.View, err error) {
		v.Viewer = archive.Viewer{All: true}
		v.Ticks, err = added.AllTicks(ctx)
		return v, err
	}
	c := connect(t, s)
	var meeting meetingAnswer
	if problem := call(t, c, "get_meeting", map[string]any{"recording_id": 1}, &meeting); problem != "" {
		t.Fatal(problem)
	}
	want := actionItem{Description: "call", Done: true, Assignee: "bob@x.example", URL: "http://127.0.0.1:8080/meetings/1"}
	if meeting.Date != "" || len(meeting.Invited) != 1 || len(meeting.ActionItems) != 1 || meeting.ActionItems[0] != want {
		t.Errorf("the meeting is %+v", meeting)
	}
	var list actionAnswer
	if problem := call(t, c, "list_action_items", map[string]any{"state": "done", "person": "bob@x.example"}, &list); problem != "" {
		t.Fatal(problem)
	}
	if len(list.ActionItems) != 1 || list.ActionItems[0].actionItem != want || list.ActionItems[0].Date != "" {
		t.Errorf("the list is %+v", list)
	}
	var people peopleAnswer
	if problem := call(t, c, "list_people", map[string]any{"name": "bob@x.example"}, &people); problem != "" || len(people.People) != 1 || people.People[0].Last != "" {
		t.Errorf("people: %s, %+v", problem, people)
	}
	if problem := call(t, c, "list_people", map[string]any{"name": "BEN"}, &people); problem != "" || len(people.People) != 1 {
		t.Errorf("a name without its accent: %s, %+v", problem, people)
	}
}

// TestOddMeetingsAreShown has a meeting without a date, with a highlight at no time, a speaker
// between two seconds, and gone at the service: no list by date has it, its highlight is at
// the beginning, the entry is there at the second that is shown, and every answer says that
// it is gone.
func TestOddMeetingsAreShown(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	archivetest.Apply(t, s.Archive, archivetest.Epoch, []byte(`{"recording_id":1,"title":"Odd","highlights":[{"type":"Insight","text":"x","start_time":1.7e9},
		{"type":"Insight","text":"x","start_time":-5}],"transcript":[{"speaker":{"display_name":"Ada"},"text":"between","timestamp":"00:00:10.700"},
		{"speaker":{"display_name":"Ada"},"text":"later","timestamp":"00:00:11"}]}`))
	archivetest.Damage(t, filepath.Join(s.Archive.Dir(), "archive.db"), `UPDATE meetings SET gone_at = 5 WHERE recording_id = 1`)
	c := connect(t, s)
	for _, args := range []map[string]any{{"before": "2100-01-01"}, {"after": "1900-01-01"}, {}} {
		var list listAnswer
		args["limit"] = 100
		if problem := call(t, c, "list_meetings", args, &list); problem != "" {
			t.Fatal(problem)
		}
		at := slices.IndexFunc(list.Meetings, func(m head) bool { return m.RecordingID == 1 })
		if dated := len(args) > 1; len(list.Meetings) < 2 || dated != (at < 0) || at >= 0 && !list.Meetings[at].Gone {
			t.Errorf("%v: %d meetings, the one without a date at %d: %+v", args, len(list.Meetings), at, list.Meetings)
		}
	}
	var meeting meetingAnswer
	if problem := call(t, c, "get_meeting", map[string]any{"recording_id": 1}, &meeting); problem != "" {
		t.Fatal(problem)
	}
	if len(meeting.Highlights) != 2 || meeting.Highlights[0].At != "00:00:00" || !strings.HasSuffix(meeting.Highlights[1].URL, "?t=0") || !meeting.Gone {
		t.Errorf("the meeting is %+v", meeting)
	}
	var text transcriptAnswer
	if problem := call(t, c, "read_transcript", map[string]any{"recording_id": 1, "from": "00:00:10", "to": "00:00:10"}, &text); problem != "" ||
		len(text.Entries) != 1 || text.Entries[0].Text != "between" || !text.Gone {
		t.Errorf("%s; the transcript is %+v", problem, text)
	}
}

// TestListGoesOnBefore1970 follows next_cursor through meetings of 1904: each comes once.
func TestListGoesOnBefore1970(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	for id := range 3 {
		archivetest.Apply(t, s.Archive, archivetest.Epoch, fmt.Appendf(nil, `{"recording_id":%d,"title":"Old","recording_start_time":"1904-01-01T00:00:00Z"}`, id+1))
	}
	c, cursor, seen := connect(t, s), "", []int64{}
	for range 5 {
		var page listAnswer
		if problem := call(t, c, "list_meetings", map[string]any{"before": "1905-01-01", "limit": 1, "cursor": cursor}, &page); problem != "" {
			t.Fatal(problem)
		}
		for _, m := range page.Meetings {
			seen = append(seen, m.RecordingID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(seen, []int64{3, 2, 1}) {
		t.Errorf("listed are %d", seen)
	}
}

// TestMistakesOfAssistantsAreNamed makes mistakes that are the assistant's to correct.
func TestMistakesOfAssistantsAreNamed(t *testing.T) {
	c := connect(t, newServer(t, archive.Viewer{All: true}))
	for _, mistake := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"search_meetings", map[string]any{"query": "budget", "cursor": "garbage"}, "give the next_cursor"},
		{"search_meetings", map[string]any{"query": ")"}, "at character 1"},
		{"search_meetings", map[string]any{"query": "ـ_ـ"}, "no letter or digit"},
		{"count_trends", map[string]any{"queries": []string{")"}}, "at character 1"},
	} {
		if problem := call(t, c, mistake.tool, mistake.args, nil); !strings.Contains(problem, mistake.want) {
			t.Errorf("%s %v: %q", mistake.tool, mistake.args, problem)
		}
	}
}

// TestAPanicFailsTheCallAlone has every tool panic: each call fails, and the server goes on.
func TestAPanicFailsTheCallAlone(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	viewerOf := s.ViewerOf
	s.ViewerOf = func(context.Context) archive.Viewer { panic("no viewer") }
	c := connect(t, s)
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		args := map[string]any{}
		switch tool.Name {
		case "search_meetings":
			args["query"] = "budget"
		case "get_meeting", "read_transcript":
			args["recording_id"] = 1
		case "count_trends":
			args["queries"] = []string{"budget"}
		}
		if problem := call(t, c, tool.Name, args, nil); !strings.Contains(problem, tool.Name+" failed inside the archive") {
			t.Errorf("%s: %q", tool.Name, problem)
		}
	}
	s.ViewerOf = viewerOf
	if problem := call(t, c, "search_meetings", map[string]any{"query": "budget"}, &searchAnswer{}); problem != "" {
		t.Error(problem)
	}
}
