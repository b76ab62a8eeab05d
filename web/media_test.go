package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/sample"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// mediaAddress asks the site for a meeting's recording.
func (s *site) mediaAddress(id int64) string {
	s.t.Helper()
	_, body := s.get("/api/meetings/" + itoa(id) + "/media")
	var answer struct{ Video, Audio, State string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		s.t.Fatal(err)
	}
	return answer.Video + answer.Audio
}

func TestRecordingIsServedByRanges(t *testing.T) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	r, contentType := sample.Video()
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	address := s.mediaAddress(s.ids[0])
	resp, body := s.get(address)
	if resp.StatusCode != 200 || !bytes.Equal([]byte(body), want) || resp.Header.Get("Content-Type") != contentType {
		t.Fatalf("%d %s, %d bytes; want all %d of %s", resp.StatusCode, resp.Header.Get("Content-Type"), len(body), len(want), contentType)
	}
	if c := resp.Header.Get("Cache-Control"); !strings.Contains(c, "private") {
		t.Errorf("a recording may be kept by others: %q", c)
	}
	resp, body = s.get(address, "Range", "bytes=1000-1999")
	if resp.StatusCode != 206 || body != string(want[1000:2000]) {
		t.Errorf("range: %d, %d bytes", resp.StatusCode, len(body))
	}
	if got := resp.Header.Get("Content-Range"); got != fmt.Sprintf("bytes 1000-1999/%d", len(want)) {
		t.Errorf("Content-Range %q", got)
	}
	if resp, _ = s.get(address, "Range", "bytes=99999999-"); resp.StatusCode != 416 {
		t.Errorf("a range beyond the end: %d, want 416", resp.StatusCode)
	}
	for text, want := range map[string]int{"items=0-1": 200, "BYTES=0-0": 206, "bytes=-0": 416, "bytes=0-99999999999999999999": 206} {
		if resp, _ = s.get(address, "Range", text); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", text, resp.StatusCode, want)
		}
	}
	resp, _ = s.get(address, "Range", "bytes=0-9", "If-Range", `"of another recording"`)
	if resp.StatusCode != 200 {
		t.Errorf("a range of another recording: %d, want the whole of this one", resp.StatusCode)
	}
}

func TestMediaAddressesAreOursAndExpire(t *testing.T) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	address := s.mediaAddress(s.ids[0])
	for what, forged := range map[string]string{
		"unsigned":         address[:strings.Index(address, "?")],
		"another type":     strings.Replace(address, "video%2Fmp4", "text%2Fhtml", 1),
		"a later time":     strings.Replace(address, "expires=1", "expires=2", 1),
		"another file":     strings.Replace(address, "/media/", "/media/0", 1),
		"a cut signature":  address[:len(address)-6] + address[len(address)-5:],
		"an empty address": "/media/x?type=&expires=&signature=",
	} {
		if forged == address {
			t.Fatalf("%s is the same address", what)
		}
		if resp, _ := s.get(forged); resp.StatusCode != 403 {
			t.Errorf("%s: %d, want 403", what, resp.StatusCode)
		}
	}
	early := at.Add(mediaLife - time.Minute)
	s.now.Store(&early)
	if resp, _ := s.get(address); resp.StatusCode != 200 {
		t.Errorf("before its time is over: %d", resp.StatusCode)
	}
	late := at.Add(mediaLife + time.Hour + time.Minute)
	s.now.Store(&late)
	if resp, _ := s.get(address); resp.StatusCode != 410 {
		t.Errorf("after its time: %d, want 410", resp.StatusCode)
	}
	if resp, _ := s.get(s.mediaAddress(s.ids[0])); resp.StatusCode != 200 {
		t.Errorf("a fresh address: %d", resp.StatusCode)
	}
}

func TestPlayerSaysWhereTheRecordingIs(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		d    archive.Download
		want string
	}{
		{archive.Download{State: archive.DownloadRequested}, "is preparing"},
		{archive.Download{State: archive.DownloadReady, Size: 2_000_000, Fetched: 1_240_000}, "being fetched, 62% of 2.0 MB"},
		{archive.Download{State: archive.DownloadRefused}, "No account here may have"},
		{archive.Download{State: archive.DownloadNone}, "There is no recording"},
		{archive.Download{State: archive.DownloadWanted, Failures: 2, Reason: "disk full"}, "tried again: disk full"},
		{archive.Download{State: archive.DownloadWanted}, "not here yet"},
	} {
		c.d.RecordingID = s.ids[0]
		if err := s.archive.SaveDownload(context.Background(), c.d); err != nil {
			t.Fatal(err)
		}
		s.shows(200, "/meetings/"+itoa(s.ids[0]), c.want)
	}
}
