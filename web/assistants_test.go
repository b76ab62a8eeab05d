package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

func TestAssistantsAreServedAndForeignPagesAreNot(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(),
		&sdk.StreamableClientTransport{Endpoint: s.URL + "/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(),
		&sdk.CallToolParams{Name: "search_meetings", Arguments: map[string]any{"query": "budget"}})
	if err != nil || result.IsError || !strings.Contains(result.Content[0].(*sdk.TextContent).Text, "recording_id") {
		t.Fatalf("search: %+v, %v", result, err)
	}
	for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Host": "evil.example"} {
		req, err := http.NewRequest(http.MethodPost, s.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if req.Header.Set(header, value); header == "Host" {
			req.Host = value
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("a request with %s: %s is answered %d", header, value, resp.StatusCode)
		}
	}
}

// TestAssistantsNeedATokenWherePeopleSignIn connects a client with the token of a
// person, and without one.
func TestAssistantsNeedATokenWherePeopleSignIn(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	ann := s.signIn("nobody@elsewhere.example", true)
	secret, _, err := s.people.CreateToken(t.Context(), ann.Actor(), ann.ID, "assistant", []access.Scope{access.ScopeRead}, s.now.Load().AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	connect := func(client *http.Client) (*sdk.ClientSession, error) {
		return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: s.URL + "/mcp", HTTPClient: client, DisableStandaloneSSE: true}, nil)
	}
	if session, err := connect(s.Client); err == nil { // a browser's session is not enough
		session.Close()
		t.Error("an assistant comes in without a token")
	}
	session, err := connect(&http.Client{Transport: bearerTransport(secret)})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "search_meetings", Arguments: map[string]any{"query": "budget"}})
	if err != nil || result.IsError || strings.Contains(result.Content[0].(*sdk.TextContent).Text, "recording_id") {
		t.Errorf("somebody who sees no meeting finds %+v, %v", result, err)
	}
}

// bearerTransport sends a token with each request.
type bearerTransport string

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
