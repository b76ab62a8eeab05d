package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSendingTwice sends forms and requests a second time, as a second click does, or a reader
// who never saw the answer to the first.
func TestSendingTwice(t *testing.T) {
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", ""))
	note := url.Values{"do": {"add"}, "text": {"Feed it.\r\nTwice."}, "at": {"1:05"}}
	for range 2 {
		s.changes("/meetings/1/notes", note, "/meetings/1#note1")
	}
	for _, other := range []url.Values{{"at": {"1:06"}}, {"text": {"Feed it."}}, {"private": {"yes"}}} {
		another := url.Values{"do": note["do"], "text": note["text"], "at": note["at"]}
		for name, value := range other {
			another[name] = value
		}
		if resp, _ := s.submit("/meetings/1/notes", another.Encode()); resp.Header.Get("Location") == "/meetings/1#note1" {
			t.Errorf("a note with %v is taken for another one", other)
		}
	}
	const body = `{"offset_seconds":65,"text":"By a program."}`
	_, first := s.submit("/api/v1/meetings/1/notes", body)
	if _, second := s.submit("/api/v1/meetings/1/notes", body); second != first {
		t.Errorf("adding a note twice answers\n%s%s", first, second)
	}
	seen := s.state("/meetings/1")
	change := url.Values{"do": {"change"}, "note": {"1"}, "seen": {seen}, "text": {"Feed it.\r\nThrice. "}}
	for range 2 {
		s.changes("/meetings/1/notes", change, "/meetings/1#notes")
	}
	change["private"], change["seen"] = []string{"yes"}, []string{"1"}
	if resp, _ := s.submit("/meetings/1/notes", change.Encode()); resp.StatusCode != http.StatusConflict {
		t.Errorf("another change of what another window changed: %s", resp.Status)
	}

	for range 2 {
		s.changes("/saved", url.Values{"name": {"A"}, "query": {"walrus"}}, "/saved")
	}
	if resp, _ := s.submit("/saved", url.Values{"name": {"A"}, "query": {"herd"}}.Encode()); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("another search of the same name: %s", resp.Status)
	}
	seen = s.state("/saved")
	for range 2 {
		s.changes("/saved/1/rename", url.Values{"seen": {seen}, "name": {"B "}, "query": {"herd"}}, "/saved")
	}
	s.changes("/saved/1/delete", nil, "/saved")
	if resp, body := s.submit("/saved/1/rename", url.Values{"seen": {seen}, "name": {"Long thought of"}, "query": {"walrus herd"}}.Encode()); resp.StatusCode != http.StatusConflict || !strings.Contains(body, "deleted in another window") || !strings.Contains(body, "Long thought of: walrus herd") {
		t.Errorf("changing a search that another window deleted: %s", resp.Status)
	}
}
