package web

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/notes"
	"minutebook/internal/testrun"
)

// absurd are values that no form sends.
var absurd = []string{"-1", "0", "99999999999999999999", "1e400", "NaN", "-Inf", "2026-13-45", "99999-01-01", "-9999-12-31", "0000-00-00", "\x00", "\xff\xfe", "%", "'\"<b>",
	"((((((((((", strings.Repeat("a ", 2000), strings.Repeat("(", 5000), "\u202e\u0000", "../../etc/passwd", "after:99999-99-99 before:-1", "longer:1e99h", "id:-1"}

// TestAbsurdParametersAreNoFault gives every parameter of the pages and of /api/v1 absurd
// values: the answer is a page or names the mistake.
func TestAbsurdParametersAreNoFault(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"The walrus sings.","timestamp":"00:02:05"}]`))
	for address, names := range map[string]string{
		"/": "q after type team person", "/refine": "q sort where from to add", "/facet": "field q find", "/trends": "q by", "/saved": "x",
		"/meetings/1": "t end q find speaker", "/meetings/1/clip.vtt": "t end", "/actions": "person state q age sort", "/people": "q sort", "/calendar": "year", "/now": "x",
		"/api/v1/search": "q limit moments after facets", "/api/v1/suggest": "q limit", "/api/v1/facet": "field q limit find", "/api/v1/trends": "q by", "/api/v1/meetings": "limit cursor after before person type",
		"/api/v1/meetings/1/moments": "q limit", "/api/v1/meetings/1/media/clip": "t end", "/api/v1/people": "q limit cursor", "/api/v1/action-items": "state limit cursor age assignee q",
		"/api/v1/calendar": "year from to", "/api/v1/changes": "from recording_id", "/api/v1/status/events": "events"} {
		for name := range strings.FieldsSeq(names) {
			for _, value := range absurd {
				if name == "events" && value == "99999999999999999999" {
					continue
				}
				at := address + "?" + url.Values{name: {value}}.Encode()
				if resp, body := s.get(at); resp.StatusCode >= 500 && resp.StatusCode != 501 {
					t.Errorf("%.120s: %s: %.200s", at, resp.Status, body)
				}
			}
		}
	}
	for _, value := range absurd {
		for _, address := range []string{"/calendar/", "/people/", "/api/v1/people/", "/meetings/", "/meetings/1/versions/", "/api/v1/meetings/", "/api/v1/meetings/1/revisions/", "/feeds/"} {
			if resp, body := s.get(address + url.PathEscape(value)); resp.StatusCode >= 500 {
				t.Errorf("%s%.80q: %s: %.200s", address, value, resp.Status, body)
			}
		}
		for _, address := range []string{"/saved", "/saved/1/notify", "/now/looked", "/meetings/1/notes", "/actions/tick", "/people/merge", "/people/undo"} {
			form := url.Values{}
			for name := range strings.FieldsSeq("name query address until do text at meeting done keep other merge") {
				form.Set(name, value)
			}
			if resp, body := s.submit(address, form.Encode()); resp.StatusCode >= 500 {
				t.Errorf("POST %s %.80q: %s: %.200s", address, value, resp.Status, body)
			}
		}
	}
}

// TestFeedsOfHostileNamesAreXML reads feeds whose names and meetings are hostile.
func TestFeedsOfHostileNamesAreXML(t *testing.T) {
	testrun.SkipUnderRace(t)
	const hostile = "]]><script>alert(1)</script>&xxe;\u0001\u202e\uffff'\"<!--"
	s := newSite(t, meeting(1, `walrus ]]><script>alert(1)</script>&xxe;\u0001\u202e\uffff'\"<!--`, "2026-06-10T09:00:00Z", ""))
	saved, err := s.notes.Save(t.Context(), notes.Owner, hostile, "walrus")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := s.notes.MakeFeed(t.Context(), notes.Owner, saved.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	resp, body := s.get("/feeds/" + secret)
	var f atomFeed
	if err := xml.Unmarshal([]byte(body), &f); resp.StatusCode != 200 || err != nil || len(f.Entries) != 1 || !strings.Contains(f.Title, "<script>") || strings.Contains(body, "<script>") {
		t.Errorf("%s, %v, %+v in %s", resp.Status, err, f, body)
	}
	s.shows(200, "/saved", "&lt;script&gt;")
}

// FuzzRequests: no query and no body makes a page, or an answer of /api/v1, a fault.
func FuzzRequests(f *testing.F) {
	testrun.SkipUnderRace(f)
	s := newSite(f, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"The walrus sings.","timestamp":"00:02:05"}],"action_items":[{"description":"Count them","recording_timestamp":"00:01:05"}]`))
	s.server.Logger = zerolog.Nop()
	s.attachVideo(1)
	saved, err := s.notes.Save(f.Context(), notes.Owner, "walruses", "walrus")
	if err != nil {
		f.Fatal(err)
	}
	feed, err := s.notes.MakeFeed(f.Context(), notes.Owner, saved.ID, time.Time{})
	if err != nil {
		f.Fatal(err)
	}
	reads := strings.Fields("/ /refine /facet /trends /saved /meetings/1 /meetings/1/clip.vtt /actions /people /calendar /api/v1/search /api/v1/suggest /api/v1/facet /api/v1/trends /api/v1/meetings /api/v1/meetings/1/moments /api/v1/people /api/v1/action-items /api/v1/calendar " +
		"/api/v1/changes /api/v1/meetings/1/media /api/v1/meetings/1/media/video /api/v1/meetings/1/media/clip /api/v1/meetings/1/revisions /api/v1/meetings/1/notes /api/v1/status /api/v1/now /now /status /setup /help /calendar/2026-06 /me /admin/people /admin/audit /feeds/x /feeds/" + feed)
	writes := strings.Fields("/api/v1/action-items/tick /api/v1/people/merge /api/v1/saved-searches /api/v1/meetings/1/notes /saved /meetings/1/notes /actions/tick /people/merge")
	for i := range reads {
		f.Add(byte(i), byte(i), "bytes=0-3,-1", "from=AAAA&q=walrus&limit=1&field=person&t=125&by=team&cursor=1-2", []byte(`{"recording_id":1,"offset_seconds":65,"description":"Count them","done":true}`))
	}
	f.Add(byte(13), byte(1), "bytes=9999999-", "q=\x00&q=%zz", []byte(`{"names":["a","b"],"same":true}`))
	f.Add(byte(1), byte(3), "", "q=walrus&sort=date&add=person:bo&where=x", []byte("text=a%00b&at=1e300"))
	handler := s.server.handler()
	f.Fuzz(func(t *testing.T, read, write byte, ranges, query string, body []byte) {
		ask := func(method, path, kind string) {
			r := httptest.NewRequestWithContext(t.Context(), method, "http://notes.example"+path, bytes.NewReader(body))
			r.URL.RawQuery = query
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Range", ranges)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != http.StatusNotImplemented {
				t.Errorf("%s %s %q %q: %d %.300s", method, path, query, body, w.Code, w.Body)
			}
			if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s %q %q: %d %.300s is no JSON", method, path, query, body, w.Code, w.Body)
			}
		}
		ask("GET", reads[int(read)%len(reads)], "")
		at := writes[int(write)%len(writes)]
		if strings.HasPrefix(at, "/api/") {
			ask("POST", at, "application/json")
		} else {
			ask("POST", at, "application/x-www-form-urlencoded")
		}
	})
}
