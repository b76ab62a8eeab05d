package web

import (
	"strings"
	"testing"
	"time"

	"minutebook/archive"
)

func TestCaptionsShowEveryEntry(t *testing.T) {
	entries := []archive.Entry{
		{Index: 0, Offset: 1 * time.Second, Speaker: "Ana", Text: "one"},
		{Index: 1, Offset: 5 * time.Second, Speaker: "Bo <b>", Text: "two\nlines --> here & there"},
		{Index: 2, Offset: 5 * time.Second, Speaker: "Ana", Text: "three"},
		{Index: 3, Offset: time.Hour, Speaker: "Ana --", Text: "four\u2028\x00more"},
		{Index: 4, Offset: time.Hour + 3*time.Second, Text: "five"},
	}
	want := `WEBVTT

00:00:01.000 --> 00:00:05.000
<v Ana>one

00:00:05.000 --> 00:01:05.000
<v Bo &lt;b&gt;>two lines --&gt; here &amp; there

00:01:05.000 --> 00:02:05.000
<v Ana>three

01:00:00.000 --> 01:00:03.000
<v Ana -- >four more

01:00:03.000 --> 01:00:11.000
five

`
	if got := string(captions(entries, 0)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMeetingAsFiles(t *testing.T) {
	s := newSite(t, meeting(7, "Plan *B*", "2026-06-30T15:00:00Z", `
		"default_summary":{"markdown_formatted":"**Ship** it"},
		"action_items":[{"description":"Send it","completed":true,"assignee":{"name":"Bo"}}],
		"transcript":[{"speaker":{"display_name":"Bo"},"text":"Good morning.","timestamp":"00:00:01"}]`))
	s.shows(200, "/meetings/7/transcript.txt", "0:01  Bo: Good morning.")
	s.shows(200, "/meetings/7/minutes.md", `# Plan \*B\*`, "**Ship** it", "- [x] Send it (Bo)", "**Bo** 0:01")
	resp, body := s.get("/meetings/7/transcript.vtt")
	if resp.Header.Get("Content-Type") != "text/vtt; charset=utf-8" || !strings.HasPrefix(body, "WEBVTT\n") {
		t.Errorf("captions: %s %q", resp.Header.Get("Content-Type"), body)
	}
	s.shows(404, "/meetings/7/nothing.doc")
	s.shows(404, "/meetings/8/transcript.txt")
	s.shows(200, "/meetings/7", `href="/meetings/7/minutes.md"`)
}
