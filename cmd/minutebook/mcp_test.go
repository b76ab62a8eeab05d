package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// searchAsAssistant connects an assistant to `minutebook mcp` and searches.
func searchAsAssistant(t *testing.T, dir string) string {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(),
		&sdk.CommandTransport{Command: exec.Command("minutebook", "mcp", "--data", dir)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(context.Background(),
		&sdk.CallToolParams{Name: "search_meetings", Arguments: map[string]any{"query": "the", "limit": 1}})
	if err != nil {
		t.Fatal(err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError || !strings.Contains(text, `"recording_id"`) {
		t.Fatalf("the assistant was told %s", text)
	}
	return text
}
