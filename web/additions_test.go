package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// postJSON sends JSON as the page's scripts do.
func (s *site) postJSON(address, body string) (int, string) {
	s.t.Helper()
	resp, text := s.submit(address, body, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
	return resp.StatusCode, text
}

// TestChangesByTheInterface makes by /api/v1 the changes that forms make, and reads them.
func TestChangesByTheInterface(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"action_items":[{"description":"Count them","recording_timestamp":"00:01:05"},{"description":"Feed them"}],
		"calendar_invitees":[{"name":"Ann","email":"ann@own.example"},{"name":"Ann B.","email":"annb@own.example"}]`))
	post := func(want int, address, body string, pieces ...string) string {
		t.Helper()
		status, text := s.postJSON(address, body)
		if status != want {
			t.Fatalf("POST %s %s: %d, want %d: %s", address, body, status, want, text)
		}
		for _, piece := range pieces {
			if !strings.Contains(text, piece) {
				t.Errorf("POST %s %s: no %s in %s", address, body, piece, text)
			}
		}
		return text
	}
	const tick = `{"recording_id":1,"offset_seconds":65,"description":"Count them","done":%t}`
	post(200, "/api/v1/action-items/tick", fmt.Sprintf(tick, true), `"done":true`)
	s.shows(200, "/api/v1/action-items?state=done", "Count them")
	post(200, "/api/v1/action-items/tick", fmt.Sprintf(tick, false))
	post(200, "/api/v1/action-items/tick", `{"recording_id":1,"description":"Feed them","done":true}`)
	s.shows(200, "/api/v1/action-items?state=done", "Feed them")
	for _, wrong := range []string{`{"recording_id":1,"offset_seconds":-1,"description":"Count them"}`, `{"recording_id":1,"offset_seconds":1e300}`, `{"x":1}`, `[]`, ``} {
		post(400, "/api/v1/action-items/tick", wrong)
	}
	post(404, "/api/v1/action-items/tick", `{"recording_id":2,"description":"Count them"}`)

	merge := post(200, "/api/v1/merges", `{"keep":"ann@own.example","other":"annb@own.example"}`, `"keep":"ann@own.example"`)
	s.shows(200, "/api/v1/people/ann@own.example", `"annb@own.example"`)
	post(422, "/api/v1/merges", `{"keep":"ann@own.example","other":"annb@own.example"}`)
	post(404, "/api/v1/merges", `{"keep":"ann@own.example","other":"nobody"}`)
	var m struct{ ID int64 }
	if err := json.Unmarshal([]byte(merge), &m); err != nil {
		t.Fatal(err)
	}
	post(200, fmt.Sprintf("/api/v1/merges/%d/undo", m.ID), "")
	post(404, fmt.Sprintf("/api/v1/merges/%d/undo", m.ID), "")
	post(200, "/api/v1/merges/apart", `{"keep":"ann@own.example","other":"annb@own.example"}`)

	until := regexp.MustCompile(`"until":"[^"]*"`).FindString(s.shows(200, "/api/v1/now", `"total":1`))
	post(200, "/api/v1/now/looked", "{"+until+"}")
	s.shows(200, "/api/v1/now", `"total":0`)
	post(400, "/api/v1/now/looked", `{"until":"nonsense"}`)

	post(200, "/api/v1/saved-searches", `{"name":"Walrus","query":"walrus"}`, `"id":1`)
	post(422, "/api/v1/saved-searches", `{"name":"Walrus","query":"seal"}`)
	post(422, "/api/v1/saved-searches", `{"name":"","query":"seal"}`)
	post(422, "/api/v1/saved-searches", `{"name":"x","query":"nope:"}`)
	post(200, "/api/v1/saved-searches/1/rename", `{"name":"Seals","query":"seal"}`, `"query":"seal"`)
	post(200, "/api/v1/saved-searches/1/feed", "", `"feed":"http`, `"has_feed":true`)
	post(200, "/api/v1/saved-searches/1/end-feed", "", `"has_feed":false`)
	post(200, "/api/v1/saved-searches/1/notify", `{"address":"https://hook.example/x"}`, `"secret":"whsec_`, `"notify":"https://hook.example/x"`)
	post(422, "/api/v1/saved-searches/1/notify", `{"address":"mailto:them@own.example"}`)
	post(200, "/api/v1/saved-searches/1/notify", `{}`)
	post(404, "/api/v1/saved-searches/1/nonsense", "")
	post(200, "/api/v1/saved-searches/1/delete", "", `"name":"Seals"`)
	post(404, "/api/v1/saved-searches/1/delete", "")
	post(404, "/api/v1/saved-searches/x/delete", "")
	if resp, _ := s.submit("/api/v1/saved-searches", `{"name":"x","query":"x"}`, "Content-Type", "application/json", "Sec-Fetch-Site", "cross-site"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("another site saves searches: %s", resp.Status)
	}
}

// TestASavedSearchIsChangedAsItWasRead makes each change of a saved search with the changed_at
// of the list, at times between two seconds, and then with one of before.
func TestASavedSearchIsChangedAsItWasRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", ""))
	s.now.Store(new(at.Add(123 * time.Millisecond)))
	if status, body := s.postJSON("/api/v1/saved-searches", `{"name":"Walrus","query":"walrus"}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for _, change := range []string{"rename", "feed", "end-feed", "notify", "delete"} {
		var list struct {
			Saved []savedRequest `json:"saved_searches"`
		}
		_, body := s.get("/api/v1/saved-searches")
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Saved) != 1 {
			t.Fatalf("before %s: %v %s", change, err, body)
		}
		for _, each := range []struct {
			seen time.Time
			want int
		}{{list.Saved[0].ChangedAt.Add(-time.Millisecond), 409}, {list.Saved[0].ChangedAt, 200}} {
			status, body := s.postJSON("/api/v1/saved-searches/1/"+change, fmt.Sprintf(`{"name":"Seals","query":"seal","changed_at":%q}`, each.seen.Format(time.RFC3339Nano)))
			if status != each.want {
				t.Errorf("%s as of %s: %d, want %d: %s", change, each.seen, status, each.want, body)
			}
		}
	}
}
