package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/sample"
	"minutebook/search"
)

// newServer is a server over the sample's meetings.
func newServer(t testing.TB, viewer archive.Viewer) *Server {
	t.Helper()
	sampleOnce.Do(func() {
		a := archivetest.Sample(t)
		x := openIndex(t, a)
		if err := errors.Join(x.CatchUp(t.Context()), x.Close(), a.Close()); err != nil {
			t.Fatal(err)
		}
		for name, content := range archivetest.Tree(t, a.Dir()) {
			sampleFiles[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o600}
		}
	})
	dir := t.TempDir()
	if err := os.CopyFS(dir, sampleFiles); err != nil {
		t.Fatal(err)
	}
	a := archivetest.OpenAt(t, dir, time.Now)
	x := openIndex(t, a)
	if err := x.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Archive: a, Index: x, ViewerOf: func(context.Context) archive.Viewer { return viewer }, PageURL: "http://127.0.0.1:8080/",
		Logger: zerolog.New(zerolog.NewTestWriter(t)), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	sampleOnce  sync.Once
	sampleFiles = fstest.MapFS{} // the data directory of the sample archive, with its index
)

// openIndex opens the index of an archive; the test closes it.
func openIndex(t testing.TB, a *archive.Archive) *search.Index {
	t.Helper()
	x, err := search.Open(t.Context(), search.Options{Archive: a, Logger: zerolog.Nop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// connect is an assistant's session over HTTP.
func connect(t *testing.T, s *Server) *sdk.ClientSession {
	t.Helper()
	site := httptest.NewServer(s.Handler())
	t.Cleanup(site.Close)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(),
		&sdk.StreamableClientTransport{Endpoint: site.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool and decodes its answer; it returns the error a tool told.
func call(t *testing.T, c *sdk.ClientSession, tool string, args map[string]any, answer any) string {
	t.Helper()
	result, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return text
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return ""
}

func TestAssistantFindsAndReads(t *testing.T) {
	c := connect(t, newServer(t, archive.Viewer{All: true}))
	tools, err := c.ListTools(context.Background(), nil)
	if err != nil || len(tools.Tools) != 7 {
		t.Fatalf("%d tools, %v; want 7", len(tools.Tools), err)
	}
	page, err := os.ReadFile("../docs/how-to/assistants.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "\n| `"); n != len(tools.Tools) {
		t.Errorf("assistants.md lists %d tools, and there are %d", n, len(tools.Tools))
	}
	for _, tool := range tools.Tools {
		if !strings.Contains(string(page), "\n| `"+tool.Name+"` |") {
			t.Errorf("assistants.md has no row of %s", tool.Name)
		}
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
	var found searchAnswer
	if problem := call(t, c, "search_meetings", map[string]any{"query": "budget", "limit": 1}, &found); problem != "" {
		t.Fatal(problem)
	}
	if found.Total < 2 || len(found.Meetings) != 1 || len(found.Meetings[0].Moments) == 0 || found.NextCursor == "" {
		t.Fatalf("search: %+v", found)
	}
	m := found.Meetings[0]
	at := m.Moments[0]
	if !strings.HasPrefix(at.URL, "http://127.0.0.1:8080/meetings/") || !strings.Contains(at.URL, "?t=") {
		t.Errorf("a moment's address is %q", at.URL)
	}
	var text transcriptAnswer
	if problem := call(t, c, "read_transcript", map[string]any{"recording_id": m.RecordingID, "from": at.At, "to": at.At}, &text); problem != "" {
		t.Fatal(problem)
	}
	if len(text.Entries) == 0 || text.Entries[0].Text != at.Text || text.Entries[0].Speaker != at.Speaker {
		t.Errorf("at %s the transcript has %+v, search said %+v", at.At, text.Entries, at)
	}
	if want := fmt.Sprintf("http://127.0.0.1:8080/meetings/%d?t=", m.RecordingID); !strings.HasPrefix(text.Entries[0].URL, want) {
		t.Errorf("an entry's address is %q", text.Entries[0].URL)
	}
	var whole meetingAnswer
	if problem := call(t, c, "get_meeting", map[string]any{"recording_id": m.RecordingID}, &whole); problem != "" {
		t.Fatal(problem)
	}
	if whole.Title != m.Title || whole.Summary == "" || len(whole.Invited) == 0 || whole.Entries < 60 {
		t.Errorf("the meeting is %+v", whole)
	}
}

func TestTranscriptComesWholeInPieces(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	c := connect(t, s)
	rows, err := s.Archive.List(context.Background(), archive.ListQuery{Viewer: archive.Viewer{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[:5] {
		n, from, pieces := 0, "", 0
		for ; pieces < 50; pieces++ {
			var piece transcriptAnswer
			if problem := call(t, c, "read_transcript", map[string]any{"recording_id": row.RecordingID, "from": from}, &piece); problem != "" {
				t.Fatal(problem)
			}
			n += len(piece.Entries)
			if from = piece.NextFrom; from == "" {
				break
			}
		}
		if n != row.Entries {
			t.Errorf("meeting %d: %d entries in its pieces, want %d", row.RecordingID, n, row.Entries)
		}
	}
}

func TestListsGoOnAndNarrow(t *testing.T) {
	c := connect(t, newServer(t, archive.Viewer{All: true}))
	seen, cursor := map[int64]bool{}, ""
	for range 20 {
		var page listAnswer
		if problem := call(t, c, "list_meetings", map[string]any{"limit": 7, "cursor": cursor}, &page); problem != "" {
			t.Fatal(problem)
		}
		for _, m := range page.Meetings {
			if seen[m.RecordingID] {
				t.Errorf("meeting %d twice", m.RecordingID)
			}
			seen[m.RecordingID] = true
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != len(sample.All()) {
		t.Errorf("%d meetings listed, want %d", len(seen), len(sample.All()))
	}
	var open, all actionAnswer
	if problem := call(t, c, "list_action_items", map[string]any{"limit": 200}, &open); problem != "" {
		t.Fatal(problem)
	}
	if problem := call(t, c, "list_action_items", map[string]any{"limit": 200, "state": "all"}, &all); problem != "" {
		t.Fatal(problem)
	}
	if len(open.ActionItems) == 0 || len(all.ActionItems) < len(open.ActionItems) {
		t.Errorf("%d open items of %d", len(open.ActionItems), len(all.ActionItems))
	}
}

func TestWrongCallsAreToldWhy(t *testing.T) {
	c := connect(t, newServer(t, archive.Viewer{All: true}))
	for _, w := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"search_meetings", map[string]any{"query": "speeker:ana"}, "did you mean speaker:ana"},
		{"get_meeting", map[string]any{"recording_id": 1}, "no such meeting"},
		{"read_transcript", map[string]any{"recording_id": 1, "from": "noon"}, "HH:MM:SS"},
		{"list_meetings", map[string]any{"after": "soon"}, "2026-03-05"},
		{"list_meetings", map[string]any{"cursor": "x"}, "next_cursor"},
		{"list_action_items", map[string]any{"state": "half"}, "open, done or all"},
		{"get_meeting", map[string]any{}, "recording_id"},
		{"count_trends", map[string]any{"queries": []string{"budget"}, "by": "week"}, "month, team or person"},
		{"count_trends", map[string]any{"queries": []string{"("}}, "read the query at character"},
		{"count_trends", map[string]any{"queries": []string{}}, "1 to 6"},
	} {
		if problem := call(t, c, w.tool, w.args, &struct{}{}); !strings.Contains(problem, w.want) {
			t.Errorf("%s %v: told %q, want %q in it", w.tool, w.args, problem, w.want)
		}
	}
}

func TestAssistantSeesWhatItsPersonSees(t *testing.T) {
	s := newServer(t, archive.ViewerWith("stranger@elsewhere.example"))
	c := connect(t, s)
	var found searchAnswer
	call(t, c, "search_meetings", map[string]any{"query": "budget"}, &found)
	var list listAnswer
	call(t, c, "list_meetings", nil, &list)
	var people peopleAnswer
	call(t, c, "list_people", nil, &people)
	var items actionAnswer
	call(t, c, "list_action_items", map[string]any{"state": "all"}, &items)
	var trends trendsAnswer
	call(t, c, "count_trends", map[string]any{"queries": []string{"budget"}}, &trends)
	if len(people.People) != 0 || len(items.ActionItems) != 0 || len(trends.Trends) != 1 || trends.Trends[0].Total != 0 {
		t.Errorf("a stranger is told of %d people, %d action items, and %+v", len(people.People), len(items.ActionItems), trends)
	}
	if found.Total != 0 || len(list.Meetings) != 0 {
		t.Errorf("a stranger finds %d and lists %d meetings", found.Total, len(list.Meetings))
	}
	rows, err := s.Archive.List(context.Background(), archive.ListQuery{Viewer: archive.Viewer{All: true}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"get_meeting", "read_transcript"} {
		if problem := call(t, c, tool, map[string]any{"recording_id": rows[0].RecordingID}, &struct{}{}); !strings.Contains(problem, "no such meeting") {
			t.Errorf("%s tells a stranger %q", tool, problem)
		}
	}
}

// TestPeopleTrendsAndMergedNames merges two persons and ticks an action item off: lists know
// both.
func TestPeopleTrendsAndMergedNames(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	added, err := notes.Open(t.Context(), notes.Options{Archive: s.Archive})
	if err != nil {
		t.Fatal(err)
	}
	s.View = func(ctx context.Context) (v roster.View, err error) {
		v.Viewer = archive.Viewer{All: true}
		if v.Groups, err = added.Groups(ctx); err == nil {
			v.Ticks, err = added.AllTicks(ctx)
		}
		return v, err
	}
	c := connect(t, s)
	ask := func(tool string, args map[string]any, answer any) {
		t.Helper()
		if problem := call(t, c, tool, args, answer); problem != "" {
			t.Fatal(problem)
		}
	}
	var people peopleAnswer
	ask("list_people", map[string]any{"limit": 2}, &people)
	if len(people.People) != 2 || people.Total < 3 || people.People[0].Meetings < people.People[1].Meetings || people.People[0].Spoke == 0 {
		t.Fatalf("%+v", people)
	}
	first, second := people.People[0].Names[0], people.People[1].Names[0]
	meetings := func(person string) (n int) {
		var list listAnswer
		ask("list_meetings", map[string]any{"person": person, "limit": 100}, &list)
		return len(list.Meetings)
	}
	alone, other := meetings(first), meetings(second)
	if _, err := added.Merge(t.Context(), notes.Owner, first, second); err != nil {
		t.Fatal(err)
	}
	if both := meetings(first); both < max(alone, other) || both != meetings(second) {
		t.Errorf("%d and %d meetings, together %d and %d", alone, other, both, meetings(second))
	}
	var open, later actionAnswer
	ask("list_action_items", map[string]any{"limit": 200}, &open)
	item := open.ActionItems[0]
	at, err := api.ParseOffset(item.At)
	if err != nil {
		t.Fatal(err)
	}
	if err := added.Tick(t.Context(), notes.Owner, notes.Item{RecordingID: item.RecordingID, At: at, Text: item.Description}); err != nil {
		t.Fatal(err)
	}
	if ask("list_action_items", map[string]any{"limit": 200}, &later); len(later.ActionItems) != len(open.ActionItems)-1 {
		t.Errorf("%d open items, %d after one was ticked off", len(open.ActionItems), len(later.ActionItems))
	}
	var trends trendsAnswer
	ask("count_trends", map[string]any{"queries": []string{"budget", "nosuchword"}}, &trends)
	if len(trends.Trends) != 2 || trends.Trends[0].Total == 0 || len(trends.Trends[0].Points) == 0 || trends.Trends[1].Total != 0 {
		t.Errorf("%+v", trends)
	}
}
