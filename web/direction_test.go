package web

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"minutebook/archive/notes"
	"minutebook/internal/testrun"
)

// TestTextsHaveTheirOwnDirection reads pages with a meeting whose every text is Hebrew:
// each text must stand in an element that takes its direction from the text.
func TestTextsHaveTheirOwnDirection(t *testing.T) {
	testrun.SkipUnderRace(t)
	raw := meeting(1, "תקציב שנתי.", "2026-06-30T08:00:00Z", `"meeting_type":"סקירה","transcript_language":"he",
		"calendar_invitees":[{"name":"משה לוי","email":"moshe@acme.example","is_external":true}],
		"transcript":[{"speaker":{"display_name":"דנה כהן","matched_calendar_invitee_email":"ana@acme.example"},"text":"תקציב שנתי, 12:30.","timestamp":"00:00:05"},
			{"speaker":{"display_name":"משה לוי"},"text":"מתי נסיים?","timestamp":"00:01:05"}],
		"default_summary":{"template_name":"כללי","markdown_formatted":"# תקציב\n\nהכול מוסכם."},
		"action_items":[{"description":"לשלוח דוח.","recording_timestamp":"00:00:05","assignee":{"name":"משה לוי","email":"moshe@acme.example"}}],
		"highlights":[{"type":"סימון","summary":"הסכמה","text":"תקציב שנתי","start_time":5,"end_time":9}],
		"crm_matches":{"companies":[{"name":"חברה","record_url":"https://crm.example/1"}],"error":"לא מחובר"}`)
	s := newSite(t, json.RawMessage(strings.NewReplacer("Ana Ruiz", "דנה כהן", "Ops", "מכירות").Replace(string(raw))))
	if _, err := s.notes.Add(t.Context(), notes.Note{RecordingID: 1, At: 5000, Text: "הערה."}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.notes.Save(t.Context(), 0, "תקציב", "תקציב"); err != nil {
		t.Fatal(err)
	}
	word := "?q=" + url.QueryEscape("תקציב")
	for _, page := range []string{"/", "/" + word, "/?q=" + url.QueryEscape("הסכמה"), "/?q=" + url.QueryEscape("team:מכירות"), "/?q=" + url.QueryEscape("תקציב xylophone"),
		"/meetings/1", "/meetings/1" + word + "&t=5", "/meetings/1?find=" + url.QueryEscape("תקציב"), "/actions", "/actions?state=all", "/people", "/people/ana@acme.example",
		"/calendar", "/calendar/2026-06", "/now", "/trends" + word, "/trends" + word + "&by=person", "/facet" + word + "&field=person", "/saved", "/status", "/help"} {
		root, err := html.Parse(strings.NewReader(s.shows(200, page)))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type == html.TextNode && strings.ContainsFunc(n.Data, func(r rune) bool { return unicode.Is(unicode.Hebrew, r) }) && !hasOwnDirection(n) {
				t.Errorf("%s: %q, in <%s %v>, has the direction of the page", page, strings.TrimSpace(n.Data), n.Parent.Data, n.Parent.Attr)
			}
		}
	}
}

// hasOwnDirection reports whether an element around a text takes its direction from the
// text, or does not show it.
func hasOwnDirection(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		switch p.Data {
		case "bdi", "title", "option", "code": // the browser draws titles and options; code is a query
			return true
		}
		for _, a := range p.Attr {
			if a.Key == "dir" {
				return a.Val == "auto"
			}
		}
	}
	return false
}
