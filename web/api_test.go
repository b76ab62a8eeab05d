package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/testrun"
	"minutebook/search"
)

// answer decodes an answer of the JSON interface.
func (s *site) answer(status int, address string, v any) {
	s.t.Helper()
	resp, body := s.get(address)
	if resp.StatusCode != status {
		s.t.Errorf("%s: status %d, want %d", address, resp.StatusCode, status)
	}
	want := "application/json; charset=utf-8"
	if status >= 400 {
		want = "application/problem+json"
	}
	if ct := resp.Header.Get("Content-Type"); ct != want {
		s.t.Errorf("%s: content type %q", address, ct)
	}
	if err := json.Unmarshal([]byte(body), v); err != nil {
		s.t.Fatalf("%s: %v in %q", address, err, body)
	}
}

func TestSearchAnswersInTheFixedForm(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(5, "Budget", "2026-06-30T15:00:00Z",
		`"transcript":[{"speaker":{"display_name":"Bo"},"text":"The tariff is fixed.","timestamp":"00:02:05"}]`))
	var got map[string]any
	s.answer(200, "/api/v1/search?q=tariff", &got)
	m := got["meetings"].([]any)[0].(map[string]any)
	moment := m["moments"].([]any)[0].(map[string]any)
	flat := []any{got["total"], m["recording_id"], m["title"], moment["offset_seconds"], moment["speaker"], moment["text"]}
	if diff := cmp.Diff([]any{1.0, 5.0, "Budget", 125.0, "Bo", "The tariff is fixed."}, flat); diff != "" {
		t.Error(diff)
	}
	s.answer(200, "/api/v1/search?q=nothinglikeit", &got)
	if got["total"] != 0.0 || len(got["meetings"].([]any)) != 0 {
		t.Errorf("nothing found: %v", got)
	}
	var wrong struct {
		Detail, Hint string
		Position     int
	}
	s.answer(400, "/api/v1/search?q=tariff+speeker:bo", &wrong)
	if wrong.Detail == "" || wrong.Hint == "" || wrong.Position != 7 {
		t.Errorf("a wrong query: %+v", wrong)
	}
	for _, bad := range []string{"limit=0", "limit=x", "moments=99"} {
		s.answer(400, "/api/v1/search?q=tariff&"+bad, &wrong)
	}
	s.answer(404, "/api/v1/nothing", &wrong)
	s.answer(404, "/api/v1/meetings/99", &wrong)
}

// TestListsSayThatTheyAreCut asks for lists that have no pages.
func TestListsSayThatTheyAreCut(t *testing.T) {
	testrun.SkipUnderRace(t)
	var lines, guests []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"speaker":{"display_name":"Bo"},"text":"The tariff is fixed.","timestamp":"00:%02d:05"}`, i))
	}
	for i := range mostChoices {
		guests = append(guests, fmt.Sprintf(`{"name":"Guest %d"}`, i))
	}
	s := newSite(t, meeting(5, "Budget", "2026-06-30T15:00:00Z", `"transcript":[`+strings.Join(lines, ",")+`],"action_items":[{"description":"Send the tariff"}]`),
		meeting(6, "Other", "2025-01-30T15:00:00Z", `"calendar_invitees":[`+strings.Join(guests, ",")+`]`))
	type answer struct {
		Moments        []search.FoundMoment
		Values         []facetValueJSON
		People, Facets []any
		More           bool
	}
	for address, want := range map[string]answer{
		"/api/v1/meetings/5/moments?q=tariff":           {Moments: make([]search.FoundMoment, 20), More: true},
		"/api/v1/meetings/5/moments?q=tariff&limit=3":   {Moments: make([]search.FoundMoment, 3), More: true},
		"/api/v1/meetings/5/moments?q=tariff&limit=40":  {Moments: make([]search.FoundMoment, 40), More: true},
		"/api/v1/meetings/5/moments?q=tariff&limit=41":  {Moments: make([]search.FoundMoment, 41)},
		"/api/v1/meetings/5/moments?q=tariff&limit=500": {Moments: make([]search.FoundMoment, 41)},
		"/api/v1/facet?field=month&limit=1":             {Values: make([]facetValueJSON, 1), More: true},
		"/api/v1/facet?field=month&limit=2":             {Values: make([]facetValueJSON, 2)},
		"/api/v1/facet?field=person&limit=301":          {Values: make([]facetValueJSON, 301), More: true},
		"/api/v1/facet?field=person&limit=302":          {Values: make([]facetValueJSON, 302)},
		"/api/v1/filters":                               {People: make([]any, mostChoices), More: true},
	} {
		var got answer
		s.answer(200, address, &got)
		if len(got.Moments) != len(want.Moments) || len(got.Values) != len(want.Values) || len(got.People) != len(want.People) || got.More != want.More {
			t.Errorf("%s: %d moments, %d values, %d people, more: %t", address, len(got.Moments), len(got.Values), len(got.People), got.More)
		}
		if n := len(got.Moments); n > 0 && got.Moments[n-1].Part != "action_items" {
			t.Errorf("%s: the last place has %s", address, got.Moments[n-1].Part)
		}
	}
}

// TestErrorsAreProblems makes mistakes of all kinds.
func TestErrorsAreProblems(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Budget", "2026-06-30T15:00:00Z", ""))
	post := func(header ...string) (*http.Response, string) {
		return s.submit("/api/v1/saved-searches", `{"name":"x","query":"tariff speeker:bo"}`, append(header, "Content-Type", "application/json")...)
	}
	for name, ask := range map[string]func() (*http.Response, string){
		`422 "position":7,"hint":"`: func() (*http.Response, string) { return post() },
		"403 cross-origin":          func() (*http.Response, string) { return post("Sec-Fetch-Site", "cross-site") },
		"421 hosts under [web]":     func() (*http.Response, string) { return s.get("/api/v1/meetings", "Host", "evil.example") },
		"404 no such recording":     func() (*http.Response, string) { return s.get("/api/v1/meetings/1/media/video") },
		"404 of this meeting here":  func() (*http.Response, string) { return s.get("/api/v1/meetings/1/media/clip?t=1&end=2") },
	} {
		resp, body := ask()
		if status, piece, _ := strings.Cut(name, " "); itoa(int64(resp.StatusCode)) != status || !strings.Contains(body, piece) || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %s %s, want %s", resp.StatusCode, resp.Header.Get("Content-Type"), body, name)
		}
	}
	if resp, body := s.submit("/saved", "query=x", "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 || strings.HasPrefix(body, "{") {
		t.Errorf("a form of another site: %d %s", resp.StatusCode, body)
	}
}

// TestTheOwnerLearnsThatAMeetingIsForgotten asks for all that there is of a meeting.
func TestTheOwnerLearnsThatAMeetingIsForgotten(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Budget", "2026-06-30T15:00:00Z", ""))
	if _, err := s.archive.Forget(t.Context(), 1, "asked to"); err != nil {
		t.Fatal(err)
	}
	s.catchUp()
	for _, r := range s.server.routes() {
		path, ok := strings.CutPrefix(r.pattern, "GET /api/v1/meetings/{id}")
		if !ok {
			continue
		}
		address := "/api/v1/meetings/1" + strings.NewReplacer("{revision}", "1", "{kind}", "video").Replace(path) + "?q=x&t=1&end=2"
		for person, want := range map[string]int{"": 410, "bo@x.example": 404} {
			if resp, body := s.get(address, "Test-Person", person); resp.StatusCode != want {
				t.Errorf("%s, asked by %q: %d %s", address, person, resp.StatusCode, body)
			}
		}
	}
}

func TestMeetingIsTheArchivesOwn(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	want, err := s.archive.MeetingJSON(context.Background(), s.ids[3])
	if err != nil {
		t.Fatal(err)
	}
	if _, body := s.get("/api/v1/meetings/" + itoa(s.ids[3])); body != string(want) {
		t.Error("the interface's meeting is not the archive's")
	}
}

func TestMeetingsListPages(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	seen, next := map[int64]bool{}, ""
	for range 20 {
		var page struct {
			Meetings []struct {
				RecordingID int64 `json:"recording_id"`
			}
			Next string
		}
		s.answer(200, "/api/v1/meetings?limit=7&cursor="+next, &page)
		for _, m := range page.Meetings {
			if seen[m.RecordingID] {
				t.Errorf("meeting %d is listed twice", m.RecordingID)
			}
			seen[m.RecordingID] = true
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if len(seen) != len(s.ids) {
		t.Errorf("%d meetings listed, want %d", len(seen), len(s.ids))
	}
}

func TestChangesAnswersWhenTheArchiveChanges(t *testing.T) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	type change struct {
		Head    string
		Changed bool
	}
	from := s.position("/")
	answers := make(chan change, 1)
	go func() {
		var c change
		resp, err := s.Client().Get(s.URL + "/api/v1/changes?from=" + from)
		if err == nil {
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			_ = json.Unmarshal(body, &c)
		}
		answers <- c
	}()
	select {
	case c := <-answers:
		t.Fatalf("an answer without a change: %+v", c)
	case <-time.After(100 * time.Millisecond):
	}
	s.apply(meeting(2, "Two", "2026-06-30T16:00:00Z", ""))
	if c := <-answers; !c.Changed || c.Head == "" {
		t.Errorf("after a change: %+v", c)
	}
	var c change
	s.answer(200, "/api/v1/changes?from="+newSite(t).position("/"), &c)
	if !c.Changed {
		t.Error("a position that another process named is waited on")
	}
	s.answer(400, "/api/v1/changes?from=x", &struct{}{})
}

// TestListsGoOnWhereAPageEnds reads each list whole, and in small pages.
func TestListsGoOnWhereAPageEnds(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	for address, list := range map[string]string{
		"meetings?": "meetings", "people?": "people", "action-items?state=all&": "action_items",
		"meetings/" + itoa(s.ids[0]) + "/transcript?from=30&": "entries",
	} {
		var whole, pages []any
		for cursor, n := "", 0; n < 200; n++ {
			var page map[string]any
			s.answer(200, "/api/v1/"+address+"limit=3&cursor="+url.QueryEscape(cursor), &page)
			pages = append(pages, page[list].([]any)...)
			if cursor, _ = page["next"].(string); cursor == "" {
				break
			}
		}
		var page map[string]any
		s.answer(200, "/api/v1/"+address+"limit=500", &page)
		whole = page[list].([]any)
		if diff := cmp.Diff(whole[:min(len(whole), 590)], pages[:min(len(pages), 590)]); diff != "" || len(whole) < 4 {
			t.Errorf("%s: %d in one page, %d in small ones: %s", address, len(whole), len(pages), diff)
		}
	}
	for _, wrong := range []string{"meetings?cursor=x", "action-items?cursor=x", "action-items?state=half", "people?limit=0", "search?facets=yes"} {
		s.answer(400, "/api/v1/"+wrong, &struct{}{})
	}
}

// TestMomentsOfAMeetingAreThoseOfItsSearch compares the moments of one meeting with the
// hits of a search in it.
func TestMomentsOfAMeetingAreThoseOfItsSearch(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	var found struct {
		Meetings []struct {
			RecordingID int64 `json:"recording_id"`
			Moments     []any
		}
	}
	s.answer(200, "/api/v1/search?q=budget&moments=20", &found)
	if len(found.Meetings) == 0 {
		t.Fatal("nothing found")
	}
	for _, m := range found.Meetings[:2] {
		var own struct{ Moments []any }
		s.answer(200, "/api/v1/meetings/"+itoa(m.RecordingID)+"/moments?q=budget", &own)
		if diff := cmp.Diff(m.Moments, own.Moments); diff != "" {
			t.Errorf("meeting %d: %s", m.RecordingID, diff)
		}
	}
}

// TestMomentsAreOfTheMeetingThatIsAsked asks meetings by queries that are not
// complete, such as an OR without its right side: the meeting's number does not complete them.
func TestMomentsAreOfTheMeetingThatIsAsked(t *testing.T) {
	testrun.SkipUnderRace(t)
	said := func(text string) string {
		return `"transcript":[{"speaker":{"display_name":"Bo"},"text":"` + text + `","timestamp":"00:02:05"}]`
	}
	s := newSite(t, meeting(1, "Plans", "2026-06-12T09:00:00Z", said("The budget or the harbour.")),
		meeting(2, "Rest", "2026-06-11T09:00:00Z", said("Nothing of the kind.")))
	for _, q := range []string{"budget", "budget OR", "sort:date budget OR", "sort:date type:Nothing OR budget OR", `sort:date budget OR "`, "budget sort:date -"} {
		var found struct{ Moments []any }
		s.answer(200, "/api/v1/meetings/2/moments?q="+url.QueryEscape(q), &found)
		if len(found.Moments) != 0 {
			t.Errorf("%s: meeting 2 shows %v", q, found.Moments)
		}
	}
	for _, q := range []string{"budget", "sort:date budget OR", "sort:date in:transcript budget", strings.Repeat("(", 32) + "budget" + strings.Repeat(")", 32)} {
		var found struct{ Moments []any }
		s.answer(200, "/api/v1/meetings/1/moments?q="+url.QueryEscape(q), &found)
		if len(found.Moments) != 1 {
			t.Errorf("%s: meeting 1 shows %v", q, found.Moments)
		}
	}
	s.shows(http.StatusBadRequest, "/api/v1/meetings/1/moments?q=budget+zzz:1", `"position":7`)
}

// TestForeignPlacesInTheResultsAreRefused asks for a place that no answer named.
func TestForeignPlacesInTheResultsAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	for _, after := range []string{"x", "-1", "%00", strings.Repeat("A", 5000)} {
		for _, page := range []string{"/", "/api/v1/search"} {
			s.shows(http.StatusBadRequest, page+"?q=budget&after="+after, "begin at the first page")
		}
	}
}
