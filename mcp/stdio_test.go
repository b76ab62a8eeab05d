package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"minutebook/archive"
)

func TestServesAStream(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), toServer, fromServer, s.Answer) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list listAnswer
	if problem := call(t, session, "list_meetings", map[string]any{"limit": 1}, &list); problem != "" || len(list.Meetings) != 1 {
		t.Errorf("over a stream: %q, %d meetings", problem, len(list.Meetings))
	}
	session.Close()
	fromClient.Close()
	if err := <-done; err != nil {
		t.Errorf("the end of the input is an error: %v", err)
	}
}

func TestStreamSurvivesWhatIsNoMessage(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	in := "nonsense\n\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\"}\n" +
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/list\"}\n"
	var out strings.Builder
	if err := Serve(context.Background(), strings.NewReader(in), &out, s.Answer); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "-32700") || !strings.Contains(lines[1], "-32601") ||
		!strings.Contains(lines[1], `"id":7`) || !strings.Contains(lines[2], "search_meetings") {
		t.Errorf("answers:\n%s", out.String())
	}
}

// TestAStreamOutlivesFailedAnswers has the archive fail for two messages, as while its daemon
// restarts: the request gets an error of the protocol, the notification none, and the next
// message is answered.
func TestAStreamOutlivesFailedAnswers(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	failures := 2
	in := `{"jsonrpc":"2.0","id":"a","method":"tools/list"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":8,"method":"tools/list"}` + "\n"
	var out strings.Builder
	err := Serve(t.Context(), strings.NewReader(in), &out, func(ctx context.Context, m json.RawMessage) (json.RawMessage, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("it \"ended\"")
		}
		return s.Answer(ctx, m)
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], "-32603") || !strings.Contains(lines[0], `"id":"a"`) ||
		!strings.Contains(lines[0], `it \"ended\"`) || !strings.Contains(lines[1], "search_meetings") {
		t.Errorf("%v; answers:\n%s", err, out.String())
	}
}

// FuzzMessages: whatever lines an assistant writes, each answer is a line of the protocol
// with the number of a request, and no tool fails for a fault of its own.
func FuzzMessages(f *testing.F) {
	s := newServer(f, archive.ViewerWith("nobody@else.example"))
	s.Logger = zerolog.Nop()
	f.Add(`{"jsonrpc":"2.0","id":7,"method":"no/such"}`+"\n\nnonsense\n[]\n", "search_meetings", `{"query":"budget","limit":-1,"cursor":"x"}`)
	f.Add(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "list_meetings", `{"after":"2026-03-05","cursor":"1-2","person":"\u0000","limit":1e9}`)
	f.Add(`{"jsonrpc":"2.0","id":"a\u2028","method":"tools/list","params":[]}`, "read_transcript", `{"recording_id":1,"from":"99:99:99"}`)
	f.Add(`{"id":{},"jsonrpc":"1.0"}`, "count_trends", `{"queries":["a","\""],"by":"team"}`)
	f.Add("\xff", "list_people", `{"name":"ـ_ـ","limit":0}`)
	f.Add("null", "list_action_items", `{"state":"done","person":"-"}`)
	f.Fuzz(func(t *testing.T, lines, tool, args string) {
		name, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(args)) || strings.Contains(args, "\n") {
			args = "{}"
		}
		const id = "8136"
		in := lines + "\n" + `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":` + string(name) + `,"arguments":` + args + "}}\n"
		var out strings.Builder
		if err := Serve(t.Context(), strings.NewReader(in), &out, s.Answer); err != nil {
			t.Fatal(err)
		}
		answers := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, answer := range answers {
			var m struct {
				Version string          `json:"jsonrpc"`
				Result  json.RawMessage `json:"result"`
				Error   json.RawMessage `json:"error"`
			}
			if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Version != "2.0" || (m.Result == nil) == (m.Error == nil) {
				t.Fatalf("%q is answered by %q", in, answer)
			}
		}
		last := answers[len(answers)-1]
		if string(readID(json.RawMessage(last))) != id || len(answers) > strings.Count(in, "\n") {
			t.Errorf("%q is answered by %q", in, answers)
		}
		if strings.Contains(last, failedInside("").Error()) {
			t.Errorf("%s %s: %s", tool, args, last)
		}
	})
}
