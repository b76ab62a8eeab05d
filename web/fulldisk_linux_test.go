package web

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestNoteOnAFullDisk keeps a note while there is no room: the page says so and shows the
// words again, of which nothing is kept, and its button keeps them once there is room.
func TestNoteOnAFullDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 24)
	s := openSiteWith(t, archive.Options{Dir: filepath.Join(disk.Dir, "data")}, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	disk.Fill()
	text := strings.Repeat("Ask <Bo> & \"Ana\" again. ", 800)
	form := url.Values{"do": {"add"}, "text": {text}, "at": {"1:23"}, "private": {"yes"}}
	resp, body := s.submit("/meetings/1/notes", form.Encode())
	if resp.StatusCode != 507 || !strings.Contains(body, "no room on the disk") || !strings.Contains(body, "Ask &lt;Bo&gt; &amp; ") ||
		!strings.Contains(body, `name="at" value="1:23"`) || !strings.Contains(body, `name="private" value="yes" checked`) {
		t.Errorf("%s\n%.3000s", resp.Status, body)
	}
	resp, body = s.submit("/api/v1/meetings/1/notes", `{"text":"`+strings.Repeat("word ", 3000)+`"}`, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
	if resp.StatusCode != 507 || !strings.Contains(body, "no room on the disk") {
		t.Errorf("%s %s", resp.Status, body)
	}
	s.shows(200, "/api/v1/meetings/1/notes", `{"notes":[]}`)
	disk.Clear()
	if resp, body = s.submit("/meetings/1/notes", form.Encode()); resp.StatusCode != 303 {
		t.Errorf("with room again: %s\n%s", resp.Status, body)
	}
	if body := s.shows(200, "/api/v1/meetings/1/notes", `"offset_seconds":83`, `"private":true`); strings.Count(body, `"id":`) != 1 {
		t.Errorf("the notes are %s", body)
	}
}

// TestWordsOfARefusedNoteAreShownAgain sends a note with a moment that is none.
func TestWordsOfARefusedNoteAreShownAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	resp, body := s.submit("/meetings/1/notes", url.Values{"do": {"add"}, "text": {"Ask Bo again."}, "at": {"soon"}}.Encode())
	if resp.StatusCode != 422 || !strings.Contains(body, "Ask Bo again.</textarea>") || !strings.Contains(body, `name="at" value="soon"`) {
		t.Errorf("%s\n%s", resp.Status, body)
	}
}
