package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/internal/testrun"
)

// changing are the parts of answers that differ from one request to the next.
var changing = regexp.MustCompile(`data-from="[^"]*"|name="until" value="[^"]*"|"(head|until)":"[^"]*"`)

// TestHiddenMeetingsLeaveNoTrace asks two archives for all pages, as people who see the same
// in both: in one of them there are more meetings, which are hidden from them. The answers
// are the same to the byte.
func TestHiddenMeetingsLeaveNoTrace(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	said := func(person, words string) string {
		return fmt.Sprintf(`"transcript":[{"speaker":{"display_name":%q,"matched_calendar_invitee_email":null},"text":%q,"timestamp":"00:00:05"}],`+
			`"action_items":[{"description":%q,"user_generated":false,"completed":false,"recording_timestamp":"00:00:05","recording_playback_url":"https://x.example","assignee":{"name":%q,"email":null,"team":null}}],`+
			`"calendar_invitees":[{"name":%q,"matched_speaker_display_name":null,"email":"guest@%s.example","email_domain":"%s.example","is_external":true}],"shared_with":"no_teams"`,
			person, words, "do "+words, person, person, strings.ToLower(person), strings.ToLower(person))
	}
	shown := []json.RawMessage{
		meeting(10, "Budget round", "2026-06-10T09:00:00Z", said("Cleo", "the budget of the harbour")),
		meeting(20, "Harbour review", "2026-06-20T09:00:00Z", said("Dana", "the review of the harbour")),
		meeting(30, "Plans", "2026-06-30T09:00:00Z", strings.Replace(said("Cleo", "plans for the budget"), `}],"action`,
			`},{"speaker":{"display_name":"Dana","matched_calendar_invitee_email":null},"text":"they fear the takeover","timestamp":"00:01:05"},`+
				`{"speaker":{"display_name":"Cleo","matched_calendar_invitee_email":null},"text":"they like the merger","timestamp":"00:02:05"}],"action`, 1)),
	}
	var hidden []json.RawMessage
	for i, raw := range []json.RawMessage{
		meeting(5, "Secret budget", "2026-05-05T09:00:00Z", said("Cleo", "the budget of the takeover of the harbour")),
		meeting(15, "Harbour takeover", "2026-06-10T11:00:00Z", said("Mallory", "budgets harbours reviews plan")),
		meeting(40, "Budget of Ana", "2026-07-01T10:00:00Z", said("Ana Ruiz", "plans takeover budget")),
	} {
		owner := []string{"bob", "boss"}[i%2]
		hidden = append(hidden, json.RawMessage(strings.NewReplacer("Ana Ruiz\",\"email", "Bob Olm\",\"email", "ana@acme", owner+"@acme", `"Ops"`, `"Board"`).Replace(string(raw))))
	}
	directory := []api.User{{Email: "ana@acme.example", Status: api.StatusActive}, {Email: "bob@acme.example", Status: api.StatusActive}}
	sites := [2]*site{newSite(t, shown...), newSite(t, shown[0], hidden[0], hidden[1], shown[1], hidden[2], shown[2])}
	for _, s := range sites {
		must(t, s.archive.PutUsers(t.Context(), "acme", directory))
		s.attachVideo(10)
	}
	sites[1].attachVideo(5, 15)
	for _, s := range sites {
		s.catchUp()
	}
	paths := []string{"/?q=budget", "/?q=the+harbour", "/?q=takeover", "/?q=budgte", "/?q=plan*", "/?q=person:Cleo", "/?type=&q=sort:date", "/?q=speaker:mallory",
		"/refine?q=budget", "/facet?field=person", "/facet?field=domain", "/facet?field=type&q=budget", "/trends?q=budget&q=takeover", "/people/Cleo", "/people/Mallory",
		"/people/bob@acme.example", "/calendar/2026-05", "/calendar/2026-06", "/calendar/2026-07", "/actions?state=all", "/meetings/10", "/meetings/20?q=budget", "/meetings/5", "/meetings/15",
		"/api/v1/search?q=budget&facets=true&histogram=true&limit=1", "/api/v1/search?q=takeover", "/?q=takeover+OR+merger", "/api/v1/search?q=takeover+OR+merger&moments=1", "/api/v1/meetings/30/moments?q=takeover+OR+merger", "/api/v1/search?q=budgte", "/api/v1/suggest?q=bu", "/api/v1/suggest?q=tak",
		"/api/v1/suggest?q=speaker:", "/api/v1/suggest?q=harbour+", "/api/v1/facet?field=person&limit=500", "/api/v1/facet?field=has", "/api/v1/trends?q=budget&by=person",
		"/api/v1/meetings?limit=2", "/api/v1/meetings/30", "/api/v1/meetings/15", "/api/v1/people?limit=1", "/api/v1/people/Cleo", "/api/v1/people/Mallory",
		"/api/v1/action-items?state=all&limit=1", "/api/v1/status/events?events=1", "/api/v1/meetings/20/moments?q=the", "/api/v1/meetings/20/media", "/api/v1/meetings/5/media/video"}
	for _, r := range sites[0].server.routes() {
		if path, ok := strings.CutPrefix(r.pattern, "GET "); ok && !strings.ContainsAny(path[1:], "{") && path != "/metrics" && path != "/api/v1/status/events" && path != "/api/v1/changes" {
			paths = append(paths, path)
		} else if path == "/{$}" {
			paths = append(paths, "/")
		}
	}
	slices.Sort(paths)
	for _, who := range []string{"ana@acme.example", "ana@acme.example,ana@old.example", "nobody@acme.example"} {
		for _, path := range paths {
			var answers [2]string
			for i, s := range sites {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Host = "localhost"
				r.Header.Set("Test-Person", who)
				w := httptest.NewRecorder()
				s.server.handler().ServeHTTP(w, r)
				header := w.Header()
				if changing.MatchString(w.Body.String()) {
					header.Del("ETag")
				}
				answers[i] = fmt.Sprint(w.Code, header, "\n", changing.ReplaceAllString(w.Body.String(), "changing"))
			}
			if d := cmp.Diff(answers[0], answers[1]); d != "" {
				t.Errorf("%s is told of hidden meetings by %s: %s", who, path, d)
			}
		}
	}
}

// TestNowIsSilentAboutHiddenMatches changes the CRM matches of another account of a meeting.
func TestNowIsSilentAboutHiddenMatches(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	recent := time.Now()
	s.now.Store(&recent)
	s.apply(meeting(1, "First", "2026-03-05T10:00:00Z", ""))
	read := func(second int, more string) {
		o := observe(t, second, meeting(1, "First", "2026-03-05T10:00:00Z", more))
		o.Account = "sales"
		if _, err := s.archive.Apply(t.Context(), []archive.Observation{o}); err != nil {
			t.Fatal(err)
		}
		s.catchUp()
	}
	read(1, "")
	body := s.shows(200, "/now", "First")
	until := regexp.MustCompile(`name="until" value="([^"]+)"`).FindStringSubmatch(body)
	s.changes("/now/looked", url.Values{"until": until[1:]}, "/now")
	read(2, `"crm_matches":{"deals":[{"name":"Renewal","amount":5,"record_url":"https://crm.example/1"}]}`)
	for range 2 {
		s.shows(200, "/now", "1 meeting arrived or changed", "CRM matches")
		if _, body := s.get("/now", "Test-Person", "ana@acme.example"); !strings.Contains(body, "nothing arrived or changed") {
			t.Errorf("somebody is told of matches that they do not see: %s", body)
		}
		s.server.Roster = roster.New(s.archive) // which reads the log from its beginning
	}
}
