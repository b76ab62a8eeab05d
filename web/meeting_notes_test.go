package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"minutebook/internal/testrun"
)

// evil is a note's text that must never become markup.
const evil = `<img src=x onerror=alert(1)> & "quoted"`

func TestNotesOnAMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""), meeting(2, "Other", "2026-06-30T16:00:00Z", ""))
	add := func(form url.Values, want int) string {
		t.Helper()
		form.Set("do", "add")
		resp, body := s.submit("/meetings/1/notes", form.Encode())
		if resp.StatusCode != want {
			t.Errorf("%v is answered %d %.300s", form, resp.StatusCode, body)
		}
		return resp.Header.Get("Location")
	}
	if to := add(url.Values{"text": {evil}, "at": {"1:23"}, "private": {"yes"}}, 303); to != "/meetings/1#note1" {
		t.Errorf("a new note leads to %q", to)
	}
	add(url.Values{"text": {"about it all"}}, 303)
	add(url.Values{"text": {" "}}, 422)
	add(url.Values{"text": {"x"}, "at": {"later"}}, 422)
	body := s.shows(200, "/meetings/1", "&lt;img src=x", `href="/meetings/1?t=83" data-t="83">1:23</a>`, "only you", "about it all", "Notes <span class=\"n\">2</span>")
	if strings.Contains(body, "<img") {
		t.Error("a note is markup")
	}
	s.shows(200, "/api/v1/meetings/1/notes", `"offset_seconds":83,`, `"private":true,"own":true`)
	s.shows(404, "/api/v1/meetings/3/notes")

	for _, c := range []struct {
		address, form string
		want          int
	}{
		{"/meetings/2/notes", "do=change&note=1&text=y", 404}, // is of another meeting
		{"/meetings/1/notes", "do=change&note=99&text=y", 404},
		{"/meetings/1/notes", "do=change&note=1&text=better", 303},
		{"/meetings/1/notes", "do=nothing&note=1", 400},
		{"/meetings/1/notes", "do=delete&note=2", 303},
		{"/meetings/3/notes", "do=add&text=x", 404},
	} {
		if resp, body := s.submit(c.address, c.form); resp.StatusCode != c.want {
			t.Errorf("%s %s is answered %d %.300s", c.address, c.form, resp.StatusCode, body)
		}
	}
	if body := s.shows(200, "/meetings/1", "better"); strings.Contains(body, "only you") || strings.Contains(body, "about it all") {
		t.Error("a note that was shared and one that was deleted are there as before")
	}
}

// TestNotesOfEveryScript keeps the longest notes, whose characters take up to twelve bytes in a
// form and in JSON.
func TestNotesOfEveryScript(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	for _, character := range []string{"я", "語", "🦭"} {
		text := strings.Repeat(character, 20_000)
		if resp, body := s.submit("/meetings/1/notes", url.Values{"do": {"add"}, "text": {text}}.Encode()); resp.StatusCode != 303 {
			t.Errorf("a form of 20,000 %s is answered %d %.300s", character, resp.StatusCode, body)
		}
		// A note that is too long is shown again, to be cut.
		if resp, body := s.submit("/meetings/1/notes", url.Values{"do": {"add"}, "text": {text + character}}.Encode()); resp.StatusCode != 422 || !strings.Contains(body, text+character+"</textarea>") {
			t.Errorf("a form of 20,001 %s is answered %d %.300s", character, resp.StatusCode, body)
		}
		var escaped string
		for _, unit := range utf16.Encode([]rune(character)) {
			escaped += fmt.Sprintf(`\u%04x`, unit)
		}
		if resp, body := s.submit("/api/v1/meetings/1/notes", `{"text":"`+strings.Repeat(escaped, 20_000)+`"}`); resp.StatusCode != 200 {
			t.Errorf("JSON of 20,000 %s is answered %d %.300s", character, resp.StatusCode, body)
		}
	}
}

// TestNoteInTwoWindows changes a note that another window has changed, and one that it has
// deleted: no words are lost, and those that are sent again are kept.
func TestNoteInTwoWindows(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	send := func(want int, form url.Values, parts ...string) url.Values {
		t.Helper()
		resp, body := s.submit("/meetings/1/notes", form.Encode())
		for _, part := range parts {
			if !strings.Contains(body, part) {
				t.Errorf("the answer does not say %s", part)
			}
		}
		if resp.StatusCode != want {
			t.Fatalf("%v is answered %d %.300s", form, resp.StatusCode, body)
		}
		return readForm(body)
	}
	send(303, url.Values{"do": {"add"}, "text": {"first"}, "at": {"1:23"}})
	opened := readForm(s.shows(200, "/meetings/1", "first"))
	opened.Set("do", "change")
	for i, text := range []string{"here", "there"} {
		later := at.Add(time.Duration(i+1) * time.Minute)
		s.now.Store(&later)
		opened.Set("text", text)
		if i == 0 {
			send(303, opened)
			continue
		}
		again := send(409, opened, "changed in another window", "“here”", "there</textarea>")
		s.shows(200, "/meetings/1", "here")
		send(303, again)
	}
	s.shows(200, "/meetings/1", "there")
	send(303, url.Values{"do": {"delete"}, "note": {"1"}})
	opened.Set("text", "everywhere")
	send(303, send(404, opened, "everywhere</textarea>"))
	s.shows(200, "/meetings/1", "everywhere")
}

// readForm returns the fields of the first form of a note on a page.
func readForm(body string) url.Values {
	form := url.Values{}
	_, body, _ = strings.Cut(body, `<form class="note"`)
	body, _, _ = strings.Cut(body, "</form>")
	for _, field := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)"|<(textarea) name="text"[^>]*>([^<]*)`).FindAllStringSubmatch(body, -1) {
		if field[3] != "" {
			form.Set("text", field[4])
			continue
		}
		form.Set(field[1], field[2])
	}
	return form
}

func TestNotesByTheInterface(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	for i, c := range []struct {
		path, body string
		want       int
		answer     string
	}{
		{"", `{"text":"at once","offset_seconds":61.5}`, 200, `"id":1,"offset_seconds":61.5,"text":"at once","private":false,"own":true`},
		{"", `{"text":""}`, 422, "characters"},
		{"", `{"text":"x","offset_seconds":-1}`, 400, "offset_seconds"},
		{"", `{"text":"x","colour":"red"}`, 400, "colour"},
		{"/1", `{"text":"later","private":true}`, 200, `"offset_seconds":61.5,"text":"later","private":true`},
		{"/2", `{"text":"later"}`, 404, "not there any more"},
		{"/1/delete", "", 200, `"text":"later"`},
		{"/1/delete", "", 404, "not there any more"},
	} {
		resp, body := s.submit("/api/v1/meetings/1/notes"+c.path, c.body)
		if resp.StatusCode != c.want || !strings.Contains(body, c.answer) {
			t.Errorf("%d: %s %s is answered %d %s", i, c.path, c.body, resp.StatusCode, body)
		}
	}
	s.shows(200, "/api/v1/meetings/1/notes", `{"notes":[]}`)
}

// TestProgramsLoseNoChangeOfANote changes a note as two programs do that have read it at the
// same time, of which one says so.
func TestProgramsLoseNoChangeOfANote(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	const address = "/api/v1/meetings/1/notes"
	var read, other noteJSON
	change := func(want int, into *noteJSON, path, body string) {
		t.Helper()
		resp, answer := s.submit(address+path, body)
		if resp.StatusCode != want || want == 200 && json.Unmarshal([]byte(answer), into) != nil || want != 200 && !strings.Contains(answer, "“Second.”") {
			t.Errorf("%s is answered %s %s", body, resp.Status, answer)
		}
	}
	seen := func(text string) string {
		return fmt.Sprintf(`{"text":%q,"changed_at":%q}`, text, read.ChangedAt.Format(time.RFC3339Nano))
	}
	change(200, &read, "", `{"text":"First."}`)
	change(200, &other, "/1", seen("Second."))
	change(409, nil, "/1", seen("Third."))
	change(200, &other, "/1", seen("Second.")) // sent again
	read = other
	change(200, &other, "/1", seen("Third."))
	change(200, &other, "/1", `{"text":"Whatever it was."}`)
	s.shows(200, address, "Whatever it was.")
}

// state returns the state of the first note or saved search of a page, as its forms send it.
func (s *site) state(page string) string {
	s.t.Helper()
	found := regexp.MustCompile(`name="seen" value="(\d+)"`).FindStringSubmatch(s.shows(200, page))
	if found == nil {
		s.t.Fatalf("%s has no form that says what it has seen", page)
	}
	return found[1]
}

// TestNothingIsDeletedUnseen deletes a note and a saved search, by program and on the page, that
// were changed after they were read, at times between two seconds.
func TestNothingIsDeletedUnseen(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	s.now.Store(new(at.Add(123 * time.Millisecond)))
	ask := func(want int, address, body, said string) (changed string) {
		t.Helper()
		resp, answer := s.submit(address, body)
		if resp.StatusCode != want || !strings.Contains(answer, said) {
			t.Errorf("%s %s is answered %s %s", address, body, resp.Status, answer)
		}
		var read struct {
			ChangedAt string `json:"changed_at"`
		}
		_ = json.Unmarshal([]byte(answer), &read) // a page has none
		return fmt.Sprintf(`{"changed_at":%q}`, read.ChangedAt)
	}
	const note, search = "/api/v1/meetings/1/notes", "/api/v1/saved-searches"
	for _, thing := range []struct{ add, item, first, then, page, form, changed, says string }{
		{note, note + "/1", `{"text":"First."}`, `{"text":"Second."}`, "/meetings/1", "do=delete&note=1&text=First.", "/meetings/1/notes", "was not deleted"},
		{search, search + "/1", `{"name":"A","query":"one"}`, `{"name":"A","query":"two"}`, "/saved", "", "/saved/1/delete", "changed in another window"},
	} {
		rename := map[bool]string{true: "/rename"}[thing.add == search]
		old := ask(200, thing.add, thing.first, "")
		seen := s.state(thing.page)
		s.now.Store(new(s.now.Load().Add(time.Minute)))
		read := ask(200, thing.item+rename, thing.then, "")
		ask(409, thing.item+"/delete", old, "changed in another window")
		ask(409, thing.changed, thing.form+"&seen="+seen, thing.says)
		s.shows(200, thing.page, s.state(thing.page))
		ask(200, thing.item+"/delete", read, "")
		ask(404, thing.item+"/delete", read, "not there any more")
	}
	// What another window gave a search is not ended either.
	ask(200, search, `{"name":"B","query":"one"}`, "")
	seen := s.state("/saved")
	ask(200, "/saved/2/feed", "seen="+seen, "/feeds/")
	for _, change := range []string{"feed", "end-feed", "notify", "delete"} {
		ask(409, "/saved/2/"+change, "seen="+seen, "is shown as it is now")
	}
	ask(303, "/saved/2/end-feed", "seen="+s.state("/saved"), "")
	ask(303, "/saved/2/delete", "", "") // by a page of before
}

func TestActionItemsAreTickedOffOnTheMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"action_items":[{"description":"Send it","recording_timestamp":"00:00:20"},{"description":"Was sent","completed":true}]`))
	body := s.shows(200, "/meetings/1", `name="text" value="Send it"`, `aria-label="done at the service"`)
	if n := strings.Count(body, `class="tick"`); n != 1 {
		t.Errorf("%d items can be ticked, want 1", n)
	}
	form := url.Values{"meeting": {"1"}, "at": {"20000"}, "text": {"Send it"}, "done": {"yes"}, "back": {"/meetings/1"}}
	if resp, _ := s.submit("/actions/tick", form.Encode()); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/meetings/1" {
		t.Errorf("the tick leads to %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	s.shows(200, "/meetings/1", "done here", fmt.Sprintf("value=%q", "no"))
}
