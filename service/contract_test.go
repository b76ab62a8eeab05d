package service

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"minutebook/api"
)

// contract judges answers by api/openapi.yaml.
type contract struct {
	t   *testing.T
	doc *openapi3.T
}

// contractDocument reads api/openapi.yaml, which takes long, once.
var contractDocument = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromData(api.OpenAPI())
})

func loadContract(t *testing.T) *contract {
	t.Helper()
	doc, err := contractDocument()
	if err != nil {
		t.Fatal(err)
	}
	return &contract{t, doc}
}

// checked lets every answer of h be judged by the contract.
func checked(t *testing.T, h http.Handler) http.Handler {
	c := loadContract(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		c.judge(r, rec)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// route finds the operation that answers a request: for a method that its path
// has not, any of the path's; nil where the contract has no such path.
func (c *contract) route(r *http.Request) *routers.Route {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, BasePath), "/")
	for template, item := range c.doc.Paths.Map() {
		parts := strings.Split(template, "/")
		same := len(parts) == len(path)
		for i := 0; same && i < len(parts); i++ {
			same = parts[i] == path[i] || strings.HasPrefix(parts[i], "{") && path[i] != ""
		}
		if !same {
			continue
		}
		op := item.GetOperation(r.Method)
		for _, other := range item.Operations() {
			if op == nil {
				op = other
			}
		}
		return &routers.Route{Spec: c.doc, Path: template, PathItem: item, Method: r.Method, Operation: op}
	}
	return nil
}

// judge judges an answer: its status, its headers, its body, and the rules for
// every answer.
func (c *contract) judge(r *http.Request, rec *httptest.ResponseRecorder) {
	c.t.Helper()
	what := r.Method + " " + r.URL.Path + " answered " + http.StatusText(rec.Code)
	route := c.route(r)
	switch {
	case route == nil && rec.Code != http.StatusNotFound:
		c.t.Errorf("%s: the contract has no such path", what)
	case route == nil:
	case route.Operation.Responses.Status(rec.Code) == nil:
		c.t.Errorf("%s: the contract has no such answer", what)
	case (rec.Code == http.StatusMethodNotAllowed) != (route.PathItem.GetOperation(r.Method) == nil):
		c.t.Errorf("%s: the contract has it otherwise", what)
	default:
		c.validate(what, r, route, rec)
	}
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if rec.Header().Get(name) == "" {
			c.t.Errorf("%s without %s", what, name)
		}
	}
	var e struct {
		Error string `json:"error"`
	}
	page := strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") && strings.HasSuffix(r.URL.Path, "/oauth2/authorize")
	if rec.Code >= 400 && !page && r.Method != http.MethodHead && (json.Unmarshal(rec.Body.Bytes(), &e) != nil || e.Error == "") {
		c.t.Errorf("%s with body %s, want an error text", what, rec.Body)
	}
	if retry := rec.Header().Get("Retry-After"); (retry != "") != (rec.Code == http.StatusTooManyRequests) {
		c.t.Errorf("%s with Retry-After %q", what, retry)
	}
}

func (c *contract) validate(what string, r *http.Request, route *routers.Route, rec *httptest.ResponseRecorder) {
	c.t.Helper()
	json := strings.HasPrefix(rec.Header().Get("Content-Type"), "application/json")
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route},
		Status:                 rec.Code, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())),
		Options: &openapi3filter.Options{ExcludeResponseBody: !json, IncludeResponseStatus: true},
	})
	if err != nil {
		c.t.Errorf("%s: %v", what, err)
	}
	for name := range route.Operation.Responses.Status(rec.Code).Value.Headers {
		if rec.Header().Get(name) == "" {
			c.t.Errorf("%s without %s, which the contract has", what, name)
		}
	}
}

// judgeAs judges the body of a webhook or a callback by a schema.
func (c *contract) judgeAs(schema string, body []byte) {
	c.t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		c.t.Fatal(err)
	}
	if err := c.doc.Components.Schemas[schema].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		c.t.Errorf("the body of a %s that is sent: %v", schema, err)
	}
}

// TestOddMeetingsAreMendedForStrictClients loads meetings as real services were seen
// to send them and lets the contract judge the answers.
func TestOddMeetingsAreMendedForStrictClients(t *testing.T) {
	recorder := `"recorded_by": {"email": "ann@acme.example", "team": null}, "shared_with": "all_teams"`
	s := newSandbox(t, Options{},
		`{"recording_id": 1, `+recorder+`}`,
		`{"recording_id": 2, `+recorder+`, "title": null, "share_url": null, "calendar_invitees": null, "created_at": "2026-01-01 10:00:00",
			"transcript": null, "default_summary": null, "action_items": null, "highlights": null, "crm_matches": null}`,
		`{"recording_id": 3, `+recorder+`, "title": 5, "recording_start_time": "2026-01-02T10:00:00+02:00", "calendar_invitees_domains_type": "all",
			"calendar_invitees": [{"email": null}, {"name": "Cy", "email": "cy@other.example", "is_external": true}],
			"transcript": [{"text": "no speaker"}, {"speaker": {"display_name": null}, "text": null, "timestamp": "00:00:01"}],
			"default_summary": {"markdown_formatted": null}, "action_items": [{"description": "Call", "assignee": {"name": null}}],
			"highlights": [{"type": "Topic", "start_time": 1.5}], "crm_matches": {"contacts": [{"name": "C"}], "error": null}}`,
		`{"recording_id": 4, `+recorder+`, "transcript": "text", "default_summary": "text", "action_items": {}, "highlights": 1, "crm_matches": [],
			"unknown_key": {"kept": true}, "meeting_url": 7}`)
	const all = "include_transcript=true&include_summary=true&include_action_items=true&include_highlights=true&include_crm_matches=true"
	body := s.get("/meetings?"+all, s.admin, 200).body
	var page struct{ Items []map[string]json.RawMessage }
	if err := json.Unmarshal(body, &page); err != nil || len(page.Items) != 4 {
		t.Fatalf("%d meetings: %v", len(page.Items), err)
	}
	if !bytes.Contains(body, []byte(`"unknown_key":{"kept": true}`)) {
		t.Error("an unknown key was not kept verbatim")
	}
	for _, item := range page.Items {
		for _, key := range []string{"transcript", "default_summary", "action_items", "highlights", "crm_matches"} {
			if item[key] == nil {
				t.Errorf("meeting %s has no %s though it was asked for", item["recording_id"], key)
			}
		}
	}
	body = s.get("/meetings", s.admin, 200).body
	page.Items = nil
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		for _, key := range []string{"transcript", "default_summary", "action_items", "highlights", "crm_matches"} {
			if value, ok := item[key]; ok && string(value) != "null" {
				t.Errorf("%s of meeting %s was included, which nobody asked for", key, item["recording_id"])
			}
		}
	}
}

// The same bytes can be right for one part and wrong for another.
func TestAPartIsJudgedForWhatItIs(t *testing.T) {
	const odd = `{"error":7,"markdown_formatted":"text"}` // unknown keys in a summary, but no CRM matches
	s := newSandbox(t, Options{}, meeting(1, "default_summary", odd), meeting(2, "crm_matches", odd))
	s.get("/recordings/1/summary", s.admin, 200)
	s.get("/meetings?include_crm_matches=true", s.admin, 200)
}
