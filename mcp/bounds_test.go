package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestListsComeWholeInPages follows next_cursor through people and action items: each comes
// once, in the order of the list that has them all.
func TestListsComeWholeInPages(t *testing.T) {
	c := connect(t, newServer(t, archive.Viewer{All: true}))
	for tool, key := range map[string]string{"list_people": "people", "list_action_items": "action_items"} {
		list := func(limit int, cursor string) (items []json.RawMessage, next string) {
			answer := map[string]json.RawMessage{}
			if problem := call(t, c, tool, map[string]any{"limit": limit, "cursor": cursor}, &answer); problem != "" {
				t.Fatal(problem)
			}
			if err := json.Unmarshal(answer[key], &items); err != nil {
				t.Fatal(err)
			}
			if raw, ok := answer["next_cursor"]; ok {
				if err := json.Unmarshal(raw, &next); err != nil || next == "" {
					t.Fatalf("%s, %v", raw, err)
				}
			}
			return items, next
		}
		all, more := list(200, "")
		if len(all) < 8 || more != "" {
			t.Fatalf("%s: %d, then %q", tool, len(all), more)
		}
		var paged []json.RawMessage
		for cursor, pages := "", 0; pages == 0 || cursor != "" && pages < 50; pages++ {
			var page []json.RawMessage
			page, cursor = list(7, cursor)
			paged = append(paged, page...)
		}
		if got, want := fmt.Sprintf("%s", paged), fmt.Sprintf("%s", all); got != want {
			t.Errorf("%s: %d in pages, want %d; %s and %s", tool, len(paged), len(all), got, want)
		}
		if problem := call(t, c, tool, map[string]any{"cursor": "x"}, nil); !strings.Contains(problem, "next_cursor") {
			t.Errorf("%s with a wrong cursor: %q", tool, problem)
		}
	}
}

// TestPeopleWhoChangePlacesBetweenPages has somebody of a later page rise to the top of the list,
// and two of the first page change places.
func TestPeopleWhoChangePlacesBetweenPages(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	c := connect(t, s)
	list := func(limit int, cursor string) (a peopleAnswer, problem string) {
		problem = call(t, c, "list_people", map[string]any{"limit": limit, "cursor": cursor}, &a)
		return a, problem
	}
	id := 9000
	raise := func(p person, meetings int) {
		for range meetings {
			id++
			archivetest.Apply(t, s.Archive, archivetest.Epoch, fmt.Appendf(nil, `{"recording_id":%d,"recorded_by":{"name":%q,"email":%q}}`, id, p.Name, p.Names[0]))
		}
	}
	all, _ := list(200, "")
	first, _ := list(4, "")
	raise(all.People[1], all.People[0].Meetings)
	if next, problem := list(4, first.NextCursor); problem != "" || next.People[0].Names[0] != all.People[4].Names[0] {
		t.Errorf("after two of the first page changed places: %+v, %q", next.People, problem)
	}
	raise(all.People[5], 2*all.People[0].Meetings+1)
	if next, problem := list(4, first.NextCursor); !strings.Contains(problem, "begin again") {
		t.Errorf("after somebody came to the first page: %+v, %q", next.People, problem)
	}
}

// TestTrendsSayWhatIsLeftOut counts a word of 130 months, teams and people: the answer has the
// latest months, or 120 of the others, and says that there are more.
func TestTrendsSayWhatIsLeftOut(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	for i := range 130 {
		archivetest.Apply(t, s.Archive, archivetest.Epoch, fmt.Appendf(nil, `{"recording_id":%d,"recording_start_time":"%d-%02d-05T10:00:00Z","recorded_by":{"name":"Ada %d","team":"Team %d"},
			"transcript":[{"speaker":{"display_name":"Ada %d"},"text":"zeppelin","timestamp":"00:00:01"}]}`, 9000+i, 1990+i/12, 1+i%12, i, i, i))
	}
	if err := s.Index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := func(by, query string) (long, short trend) {
		var trends trendsAnswer
		if problem := call(t, connect(t, s), "count_trends", map[string]any{"queries": []string{query, "budget"}, "by": by}, &trends); problem != "" {
			t.Fatal(problem)
		}
		return trends.Trends[0], trends.Trends[1]
	}
	for _, by := range []string{"team", "person"} {
		if all, _ := count(by, "zeppelin"); all.Total != 130 || len(all.Points) != mostPoints || !all.More {
			t.Errorf("by %s: %d, %d points, more %t", by, all.Total, len(all.Points), all.More)
		}
		if some, _ := count(by, "zeppelin after:1995"); some.Total != 70 || len(some.Points) < 70 || some.More {
			t.Errorf("by %s, of 70: %d, %d points, more %t", by, some.Total, len(some.Points), some.More)
		}
	}
	long, short := count("month", "zeppelin")
	if long.Total != 130 || len(long.Points) != mostPoints || !long.More || long.Points[mostPoints-1].Key != "2000-10" || short.More {
		t.Errorf("%d points, more %t, last %v; more %t", len(long.Points), long.More, long.Points[len(long.Points)-1], short.More)
	}
}

// TestLongMeetingsAreCut reads a meeting that is too long in every way. The answers are
// bounded and say that they are cut; its one entry comes whole, in pieces.
func TestLongMeetingsAreCut(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	long := strings.Repeat("äx", 50_000)
	m := map[string]any{"recording_id": 1, "default_summary": map[string]any{"markdown_formatted": long},
		"transcript": []any{map[string]any{"speaker": map[string]any{"display_name": "Ada"}, "text": "z" + long, "timestamp": "00:00:01"},
			map[string]any{"speaker": map[string]any{"display_name": "Bob"}, "text": "yes", "timestamp": "00:00:02"}}}
	var invitees, items, highlights []any
	for i := range 1000 {
		invitees = append(invitees, map[string]any{"name": fmt.Sprintf("Guest %d", i), "email": fmt.Sprintf("guest%d@x.example", i)})
		text := fmt.Sprintf("%d %s", i, long[:1000])
		if i == 0 {
			text = long
		}
		items = append(items, map[string]any{"description": text})
		highlights = append(highlights, map[string]any{"type": "Insight", "text": text})
	}
	m["calendar_invitees"], m["action_items"], m["highlights"] = invitees, items, highlights
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	archivetest.Apply(t, s.Archive, archivetest.Epoch, raw)
	c := connect(t, s)
	var meeting meetingAnswer
	if problem := call(t, c, "get_meeting", map[string]any{"recording_id": 1}, &meeting); problem != "" {
		t.Fatal(problem)
	}
	if n := measure(meeting); !meeting.Cut || n > 5*maxPart || meeting.Summary == "" || len(meeting.Invited) == 0 || len(meeting.ActionItems) == 0 || len(meeting.Highlights) == 0 {
		t.Errorf("cut %t, %d bytes, %d, %d and %d in its lists", meeting.Cut, n, len(meeting.Invited), len(meeting.ActionItems), len(meeting.Highlights))
	}
	if first := meeting.ActionItems[0].Description; len(first) > maxItem+len("…") || !strings.HasSuffix(first, "…") {
		t.Errorf("the long item has %d bytes", len(first))
	}
	talk, from, pieces := "", "", 0
	for ; pieces < 50; pieces++ {
		var piece transcriptAnswer
		if problem := call(t, c, "read_transcript", map[string]any{"recording_id": 1, "from": from}, &piece); problem != "" {
			t.Fatal(problem)
		}
		if n := measure(piece); n > 3*maxText {
			t.Errorf("a piece has %d bytes", n)
		}
		for _, e := range piece.Entries {
			talk += e.Text
		}
		if from = piece.NextFrom; from == "" {
			break
		}
	}
	if talk != "z"+long+"yes" || pieces < 3 {
		t.Errorf("%d bytes in %d pieces", len(talk), pieces+1)
	}
	if problem := call(t, c, "read_transcript", map[string]any{"recording_id": 1, "from": "#0+-5"}, nil); !strings.Contains(problem, "next_from") {
		t.Errorf("a place before the text: %q", problem)
	}
	var short meetingAnswer
	if call(t, c, "get_meeting", map[string]any{"recording_id": sampleID(t, s)}, &short); short.Cut || short.Summary == "" {
		t.Errorf("a usual meeting is %+v", short)
	}
}

// TestTheWordsFoundAreInTheAnswer finds words at the beginning, in the middle and at the end of
// an entry and of an action item that are too long for an answer.
func TestTheWordsFoundAreInTheAnswer(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	filler := strings.Repeat("äx ", 4000)
	said := "alpha " + filler + "bravo " + filler + "bravo charlie"
	item := filler + "delta " + filler
	raw, err := json.Marshal(map[string]any{"recording_id": 1, "transcript": []any{map[string]any{"speaker": map[string]any{"display_name": "Ada"}, "text": said, "timestamp": "00:00:01"}},
		"action_items": []any{map[string]any{"description": item}}})
	if err != nil {
		t.Fatal(err)
	}
	archivetest.Apply(t, s.Archive, archivetest.Epoch, raw)
	if err := s.Index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := connect(t, s)
	for query, where := range map[string]string{"alpha": "alpha äx", "bravo": "äx bravo äx", "charlie": "bravo charlie", `"bravo charlie"`: "bravo charlie", `"bravo äx"`: "bravo äx", "delta": "äx delta äx", "speaker:ada id:1": "alpha äx"} {
		var answer searchAnswer
		if problem := call(t, c, "search_meetings", map[string]any{"query": query}, &answer); problem != "" {
			t.Fatal(problem)
		}
		if len(answer.Meetings) != 1 || len(answer.Meetings[0].Moments) == 0 {
			t.Errorf("%s finds %+v", query, answer)
			continue
		}
		got := answer.Meetings[0].Moments[0].Text
		kept := strings.TrimSuffix(strings.TrimPrefix(got, "…"), "…")
		if !strings.Contains(got, where) || len(got) > maxItem+2*len("…") || len(kept) < maxItem/2 || !strings.Contains(said+item, kept) || strings.HasPrefix(said, kept) == strings.HasPrefix(got, "…") {
			t.Errorf("%s: %d bytes, from %.40q", query, len(got), got)
		}
	}
}

// sampleID returns the id of a meeting of the sample.
func sampleID(t *testing.T, s *Server) int64 {
	t.Helper()
	rows, err := s.Archive.List(t.Context(), archive.ListQuery{Viewer: archive.Viewer{All: true}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].RecordingID
}
