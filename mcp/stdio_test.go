package mcp

import (
	"context"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
