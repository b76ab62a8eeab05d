package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"minutebook/internal/corpus"
	"minutebook/internal/loopback"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// examples are an answer of each operation, as the contract has it.
var examples = map[string]string{
	"listMeetings":     `{"limit":null,"next_cursor":null,"items":[]}`,
	"listMeetingTypes": `{"limit":10,"next_cursor":null,"items":[{"name":"Sales","status":"active","created_at":"2025-10-15T17:31:26Z"}]}`,
	"listTeams":        `{"next_cursor":null,"items":[{"name":"A","created_at":"2025-10-15T17:31:26Z"}]}`,
	"listTeamMembers":  `{"next_cursor":null,"items":[{"name":"A","email":"a@x.example","created_at":"2025-10-15T17:31:26Z"}]}`,
	"listUsers":        `{"next_cursor":null,"items":[{"name":null,"email":"a@x.example","created_at":"2025-10-15T17:31:26Z","status":"invited"}]}`,
	"getTranscript":    `{"transcript":[{"speaker":{"display_name":"A"},"text":"hi","timestamp":"00:00:01"}]}`,
	"getSummary":       `{"summary":{"template_name":"General","markdown_formatted":"# A"}}`,
	"requestDownload":  `{"download_id":"d","recording_id":7,"status":"processing"}`,
	"getDownload": `{"download_id":"d","recording_id":7,"status":"completed","video":{"url":"https://media.example/x","content_type":"video/mp4",
		"file_size_bytes":1,"expires_at":"2025-10-15T17:31:26Z"}}`,
	"createWebhook": `{"id":"w","url":"https://me.example/","secret":"whsec_eHh4","created_at":"2025-10-15T17:31:26Z","triggered_for":["my_recordings"],
		"include_transcript":true,"include_crm_matches":false,"include_summary":false,"include_action_items":false}`,
	"deleteWebhook": ``,
	"token":         `{"access_token":"a","refresh_token":"r","expires_in":86400,"token_type":"Bearer"}`,
}

// notTheClients are the operations of browsers, of media players and of whoever
// reads the documents.
var notTheClients = []string{"authorize", "consent", "getMedia", "headMedia", "getDescription", "getDirectorySchema"}

// contractServer answers by examples, and checks both sides against the
// contract.
type contractServer struct {
	t      *testing.T
	router routers.Router
	called map[string]int
}

func (s *contractServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, params, err := s.router.FindRoute(r)
	if err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	op := route.Operation.OperationID
	s.called[op]++
	status := map[string]int{"requestDownload": 202, "createWebhook": 201, "deleteWebhook": 204}[op]
	if status == 0 {
		status = 200
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, examples[op])
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: status, Header: w.Header()}
	out.SetBodyBytes([]byte(examples[op]))
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		s.t.Errorf("example of %s: %v", op, err)
	}
}

func TestTheClientSpeaksTheContract(t *testing.T) {
	doc := loadContract(t)
	doc.Servers = openapi3.Servers{{URL: testBase}}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &contractServer{t: t, router: router, called: map[string]int{}}
		a, c := connect(t, &loopback.Transport{Handler: s}, &memoryStore{})
		ctx := t.Context()
		everything := MeetingQuery{Domains: []string{"x.example"}, DomainsType: DomainsExternal, MeetingType: "Sales", RecordedBy: []string{"a@x.example"}, Teams: []string{"A", "B"},
			CreatedAfter: testTime, CreatedBefore: testTime, IncludeActionItems: true, IncludeHighlights: true, IncludeCRM: true}
		exchanged := a.Exchange(ctx, "code")
		_, meetings := c.MeetingsPage(ctx, everything, "c/+=")
		_, types := c.MeetingTypesPage(ctx, "c")
		_, teams := c.TeamsPage(ctx, "c")
		_, members := c.TeamMembersPage(ctx, "A", "c")
		_, users := c.UsersPage(ctx, UserQuery{Team: "A", Status: StatusActive, SettingsAccess: SettingsNone}, "c")
		_, transcript := c.Transcript(ctx, 7)
		_, summary := c.Summary(ctx, 7)
		_, request := c.RequestDownload(ctx, 7, "https://me.example/a")
		_, bare := c.RequestDownload(ctx, 7, "")
		_, download := c.Download(ctx, 7, "d")
		_, webhook := c.CreateWebhook(ctx, WebhookRequest{DestinationURL: "https://me.example/", TriggeredFor: []string{TriggerMyRecordings}, IncludeTranscript: true, IncludeHighlights: true})
		deleted := c.DeleteWebhook(ctx, "w")
		for i, err := range []error{exchanged, meetings, types, teams, members, users, transcript, summary, request, bare, download, webhook, deleted} {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		for op := range examples {
			if s.called[op] == 0 {
				t.Errorf("%s was not called", op)
			}
		}
	})
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if _, ok := examples[op.OperationID]; !ok && !slices.Contains(notTheClients, op.OperationID) {
				t.Errorf("%s %s has no method in the client", method, path)
			}
		}
	}
}

func TestRealMeetingsFitTheContractAndComeThroughWhole(t *testing.T) {
	testrun.SkipUnderRace(t)
	schema := loadContract(t).Components.Schemas["Meeting"].Value
	for _, name := range corpus.Files() {
		for i, line := range testrun.RealMeetings(t, name) {
			id, parts, err := SplitMeeting(line)
			if err != nil {
				t.Fatalf("%s line %d: %v", name, i+1, err)
			}
			joined, err := JoinMeeting(parts)
			if err != nil || !rawjson.Equal(joined, line) {
				t.Fatalf("%s %d: joined otherwise, %v", name, id, err)
			}
			var m Meeting
			if err := json.Unmarshal(line, &m); err != nil || m.RecordingID != id || len(m.Extra) > 0 {
				t.Fatalf("%s %d: %v, unknown keys %v", name, id, err, m.Extra)
			}
			if i%4 != 0 {
				continue
			}
			var loose any
			if err := json.Unmarshal(line, &loose); err != nil {
				t.Fatal(err)
			}
			if err := schema.VisitJSON(loose, openapi3.EnableJSONSchema2020()); err != nil {
				t.Errorf("%s %d: %.500s", name, id, fmt.Sprint(err))
			}
		}
	}
}
