package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestAnswersAreCompressed asks as a browser does. Go's own transport would hide
// the encoding, so that it is told to leave it alone.
func TestAnswersAreCompressed(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, longMeeting(1, 300))
	s.attachVideo(1)
	s.Client().Transport.(*http.Transport).DisableCompression = true
	for _, c := range []struct {
		address    string
		compressed bool
	}{
		{"/meetings/1", true},
		{"/?q=walrus", true},
		{"/nothing", true},
		{"/api/v1/meetings/1", true},
		{"/meetings/1/transcript.vtt", true},
		{"/meetings/1/transcript.txt", true},
		{"/meetings/1/minutes.md", true},
		{s.assetAddress("style.css"), true},
		{s.assetAddress("app.js"), true},
		{s.assetAddress("fonts/inter-latin.woff2"), false},
		{mediaAddress(1, archive.MediaVideo), false},
		{"/healthz", false},
	} {
		identity, want := s.get(c.address)
		if identity.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed for who does not ask for it", c.address)
		}
		resp, body := s.get(c.address, "Accept-Encoding", "gzip, br, zstd")
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != c.compressed {
			t.Errorf("%s: compressed %v, want %v", c.address, got, c.compressed)
			continue
		}
		if c.compressed {
			if vary := resp.Header.Get("Vary"); !strings.Contains(vary, "Accept-Encoding") || identity.Header.Get("Vary") != vary {
				t.Errorf("%s varies by %q", c.address, vary)
			}
			unpacked, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(unpacked)
			if err != nil {
				t.Fatal(err)
			}
			if len(body)*2 > len(all) && len(all) > 4000 {
				t.Errorf("%s: %d bytes of %d", c.address, len(body), len(all))
			}
			body = string(all)
		}
		if !strings.Contains(c.address, "/meetings/1") && body != want || len(body) != len(want) { // addresses of recordings differ by the second
			t.Errorf("%s: %d bytes unpacked, %d plain", c.address, len(body), len(want))
		}
		s.sameHead(c.address, resp)
	}
}

// sameHead compares HEAD with the answer to GET.
func (s *site) sameHead(address string, got *http.Response) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodHead, s.URL+address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip, br, zstd")
	head, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	head.Body.Close()
	for _, name := range []string{"Content-Encoding", "Content-Type", "Vary", "Etag", "Accept-Ranges"} {
		if h, g := head.Header.Get(name), got.Header.Get(name); h != g {
			s.t.Errorf("HEAD %s: %s is %q, of GET %q", address, name, h, g)
		}
	}
	if length := head.Header.Get("Content-Length"); length != "" && got.ContentLength >= 0 && length != strconv.FormatInt(got.ContentLength, 10) {
		s.t.Errorf("HEAD %s: %s bytes, of GET %d", address, length, got.ContentLength)
	}
}

func TestRecordingsAreNotTouchedByCompression(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	s.attachVideo(s.ids[0])
	address := mediaAddress(s.ids[0], archive.MediaVideo)
	resp, body := s.get(address, "Range", "bytes=10-29", "Accept-Encoding", "gzip")
	if resp.StatusCode != 206 || len(body) != 20 || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("range: %d, %d bytes, %q", resp.StatusCode, len(body), resp.Header.Get("Content-Encoding"))
	}
	tag := resp.Header.Get("Etag")
	resp, body = s.get(address, "If-None-Match", tag, "Accept-Encoding", "gzip")
	if resp.StatusCode != 304 || body != "" || resp.Header.Get("Etag") != tag {
		t.Errorf("unchanged: %d, tag %q, want 304 and %q", resp.StatusCode, resp.Header.Get("Etag"), tag)
	}
	resp, body = s.get(s.assetAddress("style.css"), "Range", "bytes=0-99", "Accept-Encoding", "gzip")
	if resp.StatusCode != 206 || len(body) != 100 || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("range of a file: %d, %d bytes, %q", resp.StatusCode, len(body), resp.Header.Get("Content-Encoding"))
	}
}
