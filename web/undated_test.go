package web

import (
	"fmt"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestMeetingsWithoutDate reads a meeting without any time beside one that has only the time of
// its creation, one of 1904 and one of 2026: no page and no answer names a date that nobody gave.
func TestMeetingsWithoutDate(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, []byte(`{"recording_id":1,"title":"Odd walrus","calendar_invitees":[{"name":"Ben"}],"recorded_by":{"name":"Cy","email":"cy@acme.example"},
		"action_items":[{"description":"call","assignee":{"email":"bob@x.example"}}],
		"transcript":[{"speaker":{"display_name":"Dan"},"text":"A walrus.","timestamp":"00:00:01"}]}`),
		[]byte(`{"recording_id":2,"title":"Made walrus","created_at":"2026-06-01T09:00:00Z","action_items":[{"description":"write"}]}`),
		meeting(3, "Old walrus", "1904-01-01T09:00:00Z", `"calendar_invitees":[{"name":"Eve"}],"action_items":[{"description":"dig"}]`),
		meeting(4, "New walrus", "2026-06-30T15:00:00Z", ""))
	for _, page := range []string{"/", "/?q=walrus", "/now", "/meetings/1", "/people", "/people/Ben", "/people/Dan", "/actions?state=all", "/calendar/1970-01", "/trends?q=walrus",
		"/api/v1/meetings", "/api/v1/now", "/api/v1/search?q=walrus&histogram=true&facets=true", "/api/v1/action-items", "/api/v1/people", "/api/v1/people/Ben", "/api/v1/suggest?q=odd"} {
		body := strings.ReplaceAll(s.shows(200, page), `<title>January 1970`, "")
		if page == "/calendar/1970-01" {
			if strings.Contains(body, "Odd walrus") {
				t.Errorf("%s lists a meeting without a date", page)
			}
		} else if strings.Contains(body, "1970") || strings.Contains(body, "0001") {
			at := max(strings.Index(body, "1970"), strings.Index(body, "0001"))
			t.Errorf("%s names a date: %q", page, body[max(at-200, 0):min(at+50, len(body))])
		}
	}
	s.shows(200, "/", "Undated", "Friday, 1 January 1904")
	s.shows(200, "/people/Eve", "1 January 1904")
	starts := func(address, list string) string {
		var answer map[string]any
		s.answer(200, address, &answer)
		got := map[int]any{}
		for _, item := range answer[list].([]any) {
			item := item.(map[string]any)
			got[int(item["recording_id"].(float64))] = item["recording_start_time"]
		}
		return fmt.Sprint(got)
	}
	for address, list := range map[string]string{"/api/v1/meetings": "meetings", "/api/v1/now": "meetings", "/api/v1/search?q=walrus": "meetings", "/api/v1/action-items": "action_items"} {
		want := "map[1: 2: 3:1904-01-01T09:00:00Z 4:2026-06-30T15:00:00Z]"
		if list == "action_items" {
			want = "map[1: 2: 3:1904-01-01T09:00:00Z]"
		}
		if got := starts(address, list); got != want {
			t.Errorf("%s: the recordings begin at %s, want %s", address, got, want)
		}
	}
	for _, age := range []string{"week", "month", "older", "old"} {
		for _, address := range []string{"/actions?age=", "/api/v1/action-items?age="} {
			if body := s.shows(200, address+age); strings.Contains(body, "Odd walrus") || strings.Contains(body, "Old walrus") != strings.HasPrefix(age, "old") {
				t.Errorf("%s%s: an item of no date, or not those of 1904: %s", address, age, body)
			}
		}
	}
	s.shows(200, "/api/v1/people/Ben", `"last_seen":null`)
	s.shows(200, "/api/v1/people/Eve", `"last_seen":"1904-01-01T09:00:00Z"`)
}

// TestLengthNeedsBothEnds reads a recording of which only the end is known: it has no length.
func TestLengthNeedsBothEnds(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, []byte(`{"recording_id":1,"title":"Odd walrus","recording_end_time":"2026-06-01T10:00:00Z","created_at":"2026-06-01T10:00:00Z"}`))
	s.shows(200, "/api/v1/meetings", `"duration_seconds":0`)
	if body := s.shows(200, "/", "Odd walrus"); !strings.Contains(body, `<span class="len"></span>`) {
		t.Error("the list names a length that nobody knows")
	}
}
