package mcp

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"minutebook/archive"
)

// TestRefusalsOverHTTPAreMessages posts messages that are not accepted. The answers are
// errors of the protocol, and those to whole requests are answered with 200, since the
// clients read no other.
func TestRefusalsOverHTTPAreMessages(t *testing.T) {
	site := httptest.NewServer(newServer(t, archive.Viewer{All: true}).Handler())
	defer site.Close()
	for message, want := range map[string]struct {
		status   int
		code, id string
	}{
		`{"jsonrpc":"2.0","id":7,"method":"no/such"}`: {http.StatusOK, "-32601", "7"},
		`{"jsonrpc":"2.0","method":"no/such"}`:        {http.StatusBadRequest, "-32601", "null"},
		`{nonsense`:                                   {http.StatusBadRequest, "-32700", "null"},
		`[]`:                                          {http.StatusBadRequest, "-32600", "null"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || resp.Header.Get("Content-Type") != "application/json" ||
			!strings.Contains(string(body), fmt.Sprintf(`"code":%s,`, want.code)) || !strings.Contains(string(body), fmt.Sprintf(`"id":%s,`, want.id)) {
			t.Errorf("%s: %s, %s, %v; want %v", message, resp.Status, body, err, want)
		}
	}
}
