package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"minutebook/api"
	"minutebook/internal/loopback"
)

// service stands for one at https://meet.example.
var service = &http.Client{Transport: &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/external/v1/meetings":
		fmt.Fprint(w, `{"limit":10,"next_cursor":null,"items":[{"recording_id":7,"title":"Roadmap","meeting_url":null,
			"default_summary":{"markdown_formatted":"We ship in May."}}]}`)
	case "/external/v1/recordings/7/transcript":
		fmt.Fprint(w, `{"transcript":[]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"no such recording"}`)
	}
})}}

func client() *api.Client {
	c, err := api.NewClient(api.ClientOptions{
		BaseURL:    "https://meet.example/external/v1",
		Credential: api.APIKey("a-key"),
		HTTP:       service,
	})
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleClient_MeetingsPage() {
	query := api.MeetingQuery{CreatedAfter: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), IncludeSummary: true}
	page, err := client().MeetingsPage(context.Background(), query, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range page.Items {
		var m api.Meeting
		if err := json.Unmarshal(item, &m); err != nil {
			fmt.Println(err)
			return
		}
		summary := m.DefaultSummary.Or(api.Summary{})
		fmt.Println(m.RecordingID, m.Title, summary.MarkdownFormatted.Or("no summary yet"), m.MeetingURL.Null())
	}
	// Output: 7 Roadmap We ship in May. true
}

func ExampleClient_Transcript() {
	ctx := api.WithPriority(context.Background(), api.PriorityPerson)
	content, err := client().Transcript(ctx, 7)
	fmt.Println(content.Raw == nil, err)
	// Output: true <nil>
}

func ExampleError() {
	_, err := client().RequestDownload(context.Background(), 8, "")
	if refused, ok := errors.AsType[*api.Error](err); ok {
		fmt.Println(refused.Status, refused.Message)
	}
	fmt.Println(api.IsNotFound(err), api.IsTemporary(err))
	fmt.Println(err)
	// Output:
	// 404 no such recording
	// true false
	// POST /recordings/8/download: 404 Not Found: no such recording
}

func ExampleBudget_Snapshot() {
	c := client()
	if _, err := c.Transcript(context.Background(), 7); err != nil {
		fmt.Println(err)
	}
	for _, u := range c.Budget().Snapshot() {
		fmt.Println(u.Class, u.Used, "of", u.Limit)
	}
	// Output:
	// global 1 of 60
	// heavy 1 of 30
	// download 0 of 30
	// token 0 of 60
}

func ExampleSplitMeeting() {
	id, parts, err := api.SplitMeeting([]byte(`{"recording_id": 7, "title": "Roadmap", "transcript": null, "highlights": []}`))
	fmt.Println(id, err)
	for _, p := range api.Parts() {
		if raw, ok := parts[p]; ok {
			fmt.Println(p, string(raw), api.Empty(raw))
		}
	}
	// Output:
	// 7 <nil>
	// meeting {"recording_id":7,"title":"Roadmap"} false
	// transcript null true
	// highlights [] true
}
