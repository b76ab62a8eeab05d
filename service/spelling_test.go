package service

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// A spelling that cannot be read as it was meant is refused, and any that RFCs allow is taken.
func TestSpellingsOfRequests(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSandbox(t, Options{}, meeting(1))
	s.opts.AllowPrivate = false
	for path, want := range map[string]int{
		"/meetings?recorded_by[0]=x@y": 400, "/meetings?teams%5Bx%5D=y": 400, "/meetings?created_after[]=2026-01-01": 400, "/meetings?recorded_by[]=x@y": 200,
		"/users?status[]=active": 400, "/users?settings_access[0]=none": 400, "/team_members?team[]=Support": 400, "/meetings?other[0]=x": 200,
		"/recordings/1/summary?destination_url[]=http://x.example/": 400,
		"/meetings?cursor=&cursor=x":                                400, "/meetings?created_after=2026-01-01&created_after=2026-01-02": 400, "/meetings?teams=a&teams=b": 200,
		"/meetings?created_after=2025-01-01t00:00:00z": 200, "/meetings?created_after=1960": 400, "/meetings?created_after=2025-01-01T0:00:00Z": 400, "/meetings?created_after=2025-01-01T00:00:00,5Z": 400, "/meetings?created_after=2025-01-01T00:00:00%2B99:00": 400, "//meetings": 404, "/./meetings": 404,
		"/recordings//transcript": 404, "/recordings/1//transcript": 404, "/recordings/+1/transcript": 404, "/recordings/01/transcript": 404,
		"/recordings/1/transcript": 200, "/recordings/1/summary?destination_url=http://x.example/%25FF": 200, "/recordings/1/summary?destination_url=http://x.example/%FF": 400,
	} {
		s.get(path, s.admin, want)
	}
	for bound, want := range map[string]int{"created_before=1970-01-01T00:00:00Z": 0, "created_after=1970-01-01T00:00:00Z": 1} {
		if got := s.walk(bound, s.admin); len(got) != want {
			t.Errorf("%s lists %v, want %d", bound, got, want)
		}
	}
	created := testStart.Add(-998 * time.Hour)
	for bound, want := range map[string]int{"created_before=" + created.Format(time.RFC3339): 0, "created_before=" + created.Add(1).Format(time.RFC3339Nano): 1,
		"created_after=" + created.Add(-1).Format(time.RFC3339Nano): 1, "created_after=" + created.Format(time.RFC3339): 0, "created_after=" + created.Add(1).Format(time.RFC3339Nano): 0} {
		if got := s.walk(bound, s.admin); len(got) != want {
			t.Errorf("%s lists %v, want %d", bound, got, want)
		}
	}
	for body, want := range map[string]int{"": 202, "{}": 202, `{"Destination_URL": "ftp://x.example/"}`: 202, "null": 400, "[]": 400, `{"destination_url": null}`: 400, `{"destination_url": 1}`: 400} {
		if a := s.call(http.MethodPost, "/recordings/1/download", s.admin, body); a.status != want {
			t.Errorf("download with %s: %d %s, want %d", body, a.status, a.body, want)
		}
	}
	for address, want := range map[string]string{
		"http://10.0.0.1/": "globally", "http://[::1]:80/": "globally", "http://localhost/": "globally",
		"http://127.1/": "globally", "http://127。0。0。1/": "globally", "http://ⓛocalhost/": "globally", "http://0x7f.1./": "globally", "http://2130706433/": "globally", "http://0X7F000001:80/": "globally", "http://1.example/": "", "https:///a": "absolute", "https://:80/a": "absolute",
		"https://x.example:99999/": "port", "https://x.example:0/": "port",
		"https://x.example/" + strings.Repeat("a", 5000): "longer", "https://x.example/\xff": "UTF-8", "ftp://x.example/": "absolute", "https://x.example:443/a": "",
	} {
		a := s.call(http.MethodPost, "/webhooks", s.admin, fmt.Sprintf(`{"destination_url": "%s", "triggered_for": ["my_recordings"], "include_summary": true}`, address))
		if ok := a.status == 201; ok != (want == "") || !ok && (a.status != 400 || !strings.Contains(string(a.body), want)) {
			t.Errorf("webhook to %.40q: %d %s, want %q", address, a.status, a.body, want)
		}
	}
	for body, want := range map[string]string{`{"grant_type": "refresh_token"}`: "as a form", "grant_type=refresh_token": "client_id", "grant_type=a&grant_type=b&client_id=c": "more than once"} {
		if a := s.call(http.MethodPost, "/oauth2/token", "", body); a.status != 400 || !strings.Contains(string(a.body), want) {
			t.Errorf("token with %s: %d %s, want %q", body, a.status, a.body, want)
		}
	}
}

// An app's redirect URIs are whole addresses, and its requests say each thing once.
func TestSpellingsOfApps(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	for _, uri := range []string{"https://x.example:99999/", "https://:443/a", "https://a@x.example/", "https://x.example/#", "https://x.example/\xff", "https://x.example/" + strings.Repeat("a", 5000)} {
		if _, _, err := s.CreateApp(t.Context(), "app", []string{uri}, false); err == nil {
			t.Errorf("%.40q is taken", uri)
		}
	}
	app, _, err := s.CreateApp(t.Context(), "app", []string{"https://x.example/"}, false)
	if err != nil {
		t.Fatal(err)
	}
	address := "/oauth2/authorize?response_type=code&client_id=" + app.ClientID
	s.get(address, "", http.StatusOK)
	for _, more := range []string{"&client_id=b", "&state=a&state=b", "&response_type=code"} {
		s.get(address+more, "", http.StatusBadRequest)
	}
}

// Ranges are those of RFC 9110, and refusals are JSON.
func TestRangesOfMedia(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSandbox(t, Options{}, meeting(1))
	at := s.base[:strings.Index(s.base, BasePath)] + s.mediaLink()
	size := len(s.get(at, "", 200).body)
	for text, want := range map[string]string{
		"items=0-1": "200 ", "BYTES=0-0": "206 bytes 0-0/", "bytes=-0": "416 bytes */", "bytes=0-0,-0": "206 bytes 0-0/",
		"bytes=0-99999999999999999999": "206 bytes 0-", "bytes=99999999999999999999-": "416 bytes */", "bytes=-99999999999999999999": "206 bytes 0-", "bytes=x": "416 ", "bytes=5-2": "416 ",
	} {
		req, err := http.NewRequest(http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", text)
		a := s.do(req)
		if got := fmt.Sprint(a.status, " ", a.header.Get("Content-Range")); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s (of %d)", text, got, want, size)
		}
		if tag := a.header.Get("ETag"); a.status < 400 && len(tag) < 64 {
			t.Errorf("the ETag is %s", tag)
		}
		req.Header.Set("If-Match", `"another"`)
		if a := s.do(req); a.status != http.StatusPreconditionFailed {
			t.Errorf("%s with another If-Match: %d", text, a.status)
		}
	}
}
