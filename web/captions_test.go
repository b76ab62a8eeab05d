package web

import "testing"

func TestMeetingAsFiles(t *testing.T) {
	s := newSite(t, meeting(7, "Plan *B*", "2026-06-30T15:00:00Z", `
		"default_summary":{"markdown_formatted":"**Ship** it"},
		"action_items":[{"description":"Send it","completed":true,"assignee":{"name":"Bo"}}],
		"transcript":[{"speaker":{"display_name":"Bo"},"text":"Good morning.","timestamp":"00:00:01"}]`))
	s.shows(200, "/meetings/7/transcript.txt", "Plan *B*\n", "[x] Send it (Bo)", "[00:00:01] Bo: Good morning.")
	s.shows(200, "/meetings/7/minutes.md", `# Plan \*B\*`, "**Ship** it", "- [x] Send it (Bo)", "**Bo** `00:00:01` Good morning.")
	resp, body := s.get("/meetings/7/transcript.vtt")
	if resp.Header.Get("Content-Type") != "text/vtt; charset=utf-8" || body != "WEBVTT\n\n00:00:01.000 --> 00:00:11.000\n<v Bo>Good morning.\n" {
		t.Errorf("captions: %s %q", resp.Header.Get("Content-Type"), body)
	}
	s.shows(200, "/meetings/7/transcript.srt", "1\r\n00:00:01,000 --> 00:00:11,000\r\nBo: Good morning.\r\n")
	s.shows(404, "/meetings/7/nothing.doc")
	s.shows(404, "/meetings/8/transcript.txt")
	s.shows(200, "/meetings/7", `href="/meetings/7/minutes.md"`, `href="/meetings/7/transcript.srt"`, `href="/api/v1/meetings/7"`)
}
