package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// FuzzHTTP: whatever is sent to the assistants' address, with whatever headers, the answer is no
// fault, and one with a body is a message of the protocol or a refusal that is no success.
func FuzzHTTP(f *testing.F) {
	s := newServer(f, archive.ViewerWith("nobody@else.example"))
	s.Logger = zerolog.Nop()
	const both, kind = "application/json, text/event-stream", "application/json"
	f.Add("POST", both, kind, "2025-06-18", "", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`)
	f.Add("POST", both, kind, "", "x", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`)
	f.Add("POST", "text/event-stream;q=0", "text/plain; charset=x", "1999-01-01", "", `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
	f.Add("POST", both, kind, "", "", `[{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"search_meetings","arguments":{"query":"budget"}}}]`)
	f.Add("POST", "*/*", kind, "", "", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"read_transcript","arguments":{"recording_id":1e9}}}`)
	f.Add("POST", both, kind, "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`)
	f.Add("POST", both, kind, "", "", `{"jsonrpc":"2.0","id":3,"result":{}}`)
	f.Add("GET", both, "", "", "", "")
	f.Add("DELETE", "", "", "2025-06-18", "x", "\xff")
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, method, accept, kind, version, session, body string) {
		if method == http.MethodGet && strings.Contains(accept, "text/event-stream") {
			method = http.MethodPost // a stream has no end
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.Method = method
		for name, value := range map[string]string{"Accept": accept, "Content-Type": kind, "Mcp-Protocol-Version": version, "Mcp-Session-Id": session} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= 500 || strings.Contains(w.Body.String(), failedInside("").Error()) {
			t.Fatalf("%s %q %q %q: %d %s", method, accept, kind, body, w.Code, w.Body)
		}
		if w.Code >= 300 && !json.Valid(w.Body.Bytes()) || w.Body.Len() == 0 {
			return // plain words that nobody takes for a message
		}
		type message struct {
			Version string          `json:"jsonrpc"`
			Result  json.RawMessage `json:"result"`
			Error   json.RawMessage `json:"error"`
		}
		var all []message // the answers to a list, which earlier versions of the protocol have
		if json.Unmarshal(w.Body.Bytes(), &all) != nil {
			all = make([]message, 1)
			if err := json.Unmarshal(w.Body.Bytes(), &all[0]); err != nil {
				t.Errorf("%s %q %q %q: %d %s", method, accept, kind, body, w.Code, w.Body)
			}
		}
		for _, m := range all {
			if m.Version != "2.0" || (m.Result == nil) == (m.Error == nil) {
				t.Errorf("%s %q %q %q: %d %s", method, accept, kind, body, w.Code, w.Body)
			}
		}
	})
}
