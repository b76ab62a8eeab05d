package simulation

import (
	"encoding/json"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool calls a tool of an assistant; text is that of its answer, or of its refusal.
func (w *world) tool(c *sdk.ClientSession, name string, args map[string]any) (text string, refused bool) {
	w.t.Helper()
	result, err := c.CallTool(w.ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	w.must(err)
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// compareAssistant asks as somebody's assistant, by the page.
func (w *world) compareAssistant(email string) {
	var handler http.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set(personHeader, email)
		w.house.page.ServeHTTP(rw, r)
	})
	handlerBefore := w.house.site.handler.Swap(&handler)
	defer w.house.site.handler.Store(handlerBefore)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(w.ctx, &sdk.StreamableClientTransport{Endpoint: w.house.site.url + "/mcp", DisableStandaloneSSE: true}, nil)
	w.must(err)
	defer c.Close()
	for name, args := range map[string]map[string]any{"search_meetings": {"query": "", "limit": 50}, "list_meetings": {"limit": 100}, "list_action_items": {"limit": 200}} {
		text, _ := w.tool(c, name, args)
		w.hides(email, name, text)
		var list struct {
			Total int `json:"total"`
			Note  string
			Found []struct {
				ID int64 `json:"recording_id"`
			} `json:"meetings"`
			Items []struct {
				ID int64 `json:"recording_id"`
			} `json:"action_items"`
		}
		w.must(json.Unmarshal([]byte(text), &list))
		var got []int64
		for _, m := range append(list.Found, list.Items...) {
			got = append(got, m.ID)
		}
		slices.Sort(got)
		w.wantSame(got, w.visible(email), "%q's assistant is answered by %s", email, name)
		w.wantSame(list.Note, "", "%q's assistant is told", email)
	}
	for _, name := range []string{"get_meeting", "read_transcript"} {
		absent, _ := w.tool(c, name, map[string]any{"recording_id": 99999})
		for _, m := range w.sorted() {
			text, refused := w.tool(c, name, map[string]any{"recording_id": m.id})
			w.hides(email, name, text)
			if !w.sees(email, m) {
				w.wantSame(text, absent, "%q's assistant asks for %d, which is hidden", email, m.id)
			}
			w.wantSame(!refused, w.sees(email, m), "%q's assistant reads %d by %s", email, m.id, name)
		}
	}
}
