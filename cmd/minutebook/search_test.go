package main

import (
	"strings"
	"testing"

	"minutebook/search"
)

func TestSearchPrintsWhereItStands(t *testing.T) {
	at := 75
	r := &search.Result{Total: 1, Exact: true, Meetings: []search.FoundMeeting{{RecordingID: 7, Title: "Plan", Start: "2026-06-30T15:00:00Z",
		Moments: []search.FoundMoment{
			{OffsetSeconds: &at, Speaker: "Bo", Text: "said", Part: "transcript"},
			{Text: "summed up", Part: "default_summary"},
			{OffsetSeconds: &at, Speaker: "Bo", Text: "to do", Part: "action_items"},
			{Text: "Plan", Part: "meeting"},
		}, Why: "Found by a field."}}}
	var b strings.Builder
	if err := printSearch(&b, *r, false, ""); err != nil {
		t.Fatal(err)
	}
	_, moments, _ := strings.Cut(b.String(), "(7)\n")
	want := `  00:01:15  Bo: said
  [Summary] summed up
  00:01:15  [Action item] Bo: to do
  [Title] Plan
  Found by a field.
`
	if moments != want {
		t.Errorf("got\n%s\nwant\n%s", moments, want)
	}
}
