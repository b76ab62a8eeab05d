package web

import (
	"net/url"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

func TestMeetingAsFiles(t *testing.T) {
	testrun.SkipUnderRace(t)
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

// TestMeetingAsFilesHasWhatPeopleAdded takes away a meeting with an item that was done here,
// notes, and people who are one: the files have the ticks, the shared notes and the merged
// person, and to one who sees only this meeting no name of another one.
func TestMeetingAsFilesHasWhatPeopleAdded(t *testing.T) {
	testrun.SkipUnderRace(t)
	talk := `"calendar_invitees":[{"name":"Bob","email":"bob@acme.example"},{"name":"Bo","email":"bo@acme.example"}],"action_items":[{"description":"Send it"},{"description":"Wait"}],
		"transcript":[{"speaker":{"display_name":"Bo"},"text":"Good morning.","timestamp":"00:00:01"}]`
	s := newSite(t, meeting(7, "Plan", "2026-06-30T15:00:00Z", talk),
		[]byte(`{"recording_id":8,"title":"Hidden","calendar_invitees":[{"name":"Robert Hidden"}]}`))
	for _, form := range []struct {
		address string
		form    url.Values
	}{
		{"/actions/tick", tickForm(7, -1, "Send it")},
		{"/meetings/7/notes", url.Values{"do": {"add"}, "text": {"For all"}, "at": {"0:01"}}},
		{"/meetings/7/notes", url.Values{"do": {"add"}, "text": {"For me"}, "private": {"yes"}}},
		{"/people/merge", url.Values{"keep": {"bob@acme.example"}, "other": {"bo@acme.example"}}},
		{"/people/merge", url.Values{"keep": {"Robert Hidden"}, "other": {"bob@acme.example"}}},
	} {
		if resp, body := s.submit(form.address, form.form.Encode()); resp.StatusCode != 303 {
			t.Fatalf("%v is answered %s %.300s", form, resp.Status, body)
		}
	}
	pieces := []string{"- [x] Send it", "- [ ] Wait", "\n## Notes\n\n- For all `00:00:01`\n"}
	all := s.shows(200, "/meetings/7/minutes.md", append(pieces, "Robert Hidden")...)
	_, few := s.get("/meetings/7/minutes.md", "Test-Person", "ana@acme.example")
	for _, piece := range append(pieces, "people:\n  - \"Ana Ruiz\"\n  - \"Bob\"\n---") {
		if !strings.Contains(few, piece) {
			t.Errorf("to Ana the file does not hold %q:\n%s", piece, few)
		}
	}
	if strings.Contains(all+few, "For me") || strings.Contains(few, "obert") {
		t.Errorf("the file tells too much:\n%s\n%s", all, few)
	}
	s.shows(200, "/meetings/7/transcript.txt", "[x] Send it", "[ ] Wait")
}
