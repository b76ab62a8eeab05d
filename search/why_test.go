package search

import (
	"fmt"
	"slices"
	"testing"
)

// TestEveryHitSaysWhy asks for words that stand where no line of the transcript
// is said by the right person, or in no transcript at all.
func TestEveryHitSaysWhy(t *testing.T) {
	h := newFixture(t)
	h.add(meeting(1, "Harbour walk", "en", day(1), []utterance{
		{0, "Anna Lee", "Good morning."}, {10, "Bob Stone", "The pressure is falling."},
	}, map[string]any{"default_summary": map[string]any{"template_name": "General", "markdown_formatted": "# Notes\n\n" +
		"| Battery report | 26 s | 2.1 s |\n|---|---|---|\n| Turbine | **9 s** | 1&amp;1 |\n\n" +
		"**Gearbox**: all is [well](https://x.example/secret), `a_b` and snake\\_case\n\n- Crane, **permits included**\n"},
		"highlights": []any{map[string]any{"type": "Objection", "summary": "Too dear", "start_time": 0, "end_time": 9}},
		"action_items": []any{map[string]any{"description": "Send it", "completed": false, "user_generated": true,
			"assignee": map[string]any{"name": "Wanda Quill"}}}}))
	h.catchUp()
	for _, c := range []struct{ query, want string }{
		{"pressure speaker:anna", "10s Bob Stone : The [pressure] is falling."},
		{"harbour", "-1ns  Title: [Harbour] walk"},
		{"battery", "-1ns  Summary: [Battery] report · 26 s · 2.1 s"},
		{"turbine", "-1ns  Summary: [Turbine] · 9 s · 1&1"},
		{"gearbox", "-1ns  Summary: [Gearbox]: all is well, a_b and snake_case"},
		{"permits", "-1ns  Summary: Crane, [permits] included"},
		{"objection", "0s  Highlight: Too dear"},
		{"quill", "-1ns Wanda Quill Action item: Send it"},
		{"secret", "“secret” in the summary."},
		{`walrus OR type:"Sales call"`, "Of the type Sales call."},
		{`type:"Sales call"`, "Of the type Sales call."},
		{`type:"Sales call" OR team:Nowhere has:summary -walrus person:"Bob Stone"`, "Of the type Sales call, has summary, Bob Stone takes part."},
		{"battery zebra", "Without “zebra”.-1ns  Summary: [Battery] report · 26 s · 2.1 s"},
		{"", ""},
	} {
		a := h.search(Request{Query: c.query})
		if len(a.Meetings) != 1 {
			t.Errorf("%q finds %d meetings, want 1", c.query, len(a.Meetings))
			continue
		}
		got := a.Meetings[0].Why
		if m := a.Meetings[0].Moments; len(m) > 0 {
			text := markHits(m[0].Snippet)
			if text == "" {
				text = m[0].Text
			}
			got += fmt.Sprintf("%s %s %s: %s", m[0].Offset, m[0].Speaker, PartName(m[0].Part), text)
		}
		if got != c.want {
			t.Errorf("%q: %s\nwant %s", c.query, got, c.want)
		}
	}
	r := h.search(Request{Query: "battery"}).Result()
	if at := r.Meetings[0].Moments[0].OffsetSeconds; at != nil {
		t.Errorf("the summary stands at %d s, want no time", *at)
	}
	if at := h.search(Request{Query: "objection"}).Result().Meetings[0].Moments[0].OffsetSeconds; at == nil || *at != 0 {
		t.Error("a highlight of the first second has no time")
	}
	if a := h.search(Request{Query: "xylophone zebra"}); a.Total != 0 || a.Relaxed != "" {
		t.Errorf("what finds nothing is told how it was loosened: %q", a.Relaxed)
	}
}

func TestPlainLines(t *testing.T) {
	got := plainLines("## A *b* ~~c~~\n\n> quoted\n> on\n\n1. one\n   - two\n\n```\ncode here\n```\n\n<div>raw</div>\n\n![alt](x.png) <https://a.example>\n\n- [x] done\n")
	want := []string{"A b c", "quoted on", "one", "two", "code here", "alt https://a.example", "done"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
