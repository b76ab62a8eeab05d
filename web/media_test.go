package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestRecordingIsServedByRanges(t *testing.T) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	r, contentType := sample.Video()
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	address := mediaAddress(s.ids[0], archive.MediaVideo)
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

// TestRecordingIsJudgedAtEachRequest asks for a recording as whoever may play it, may
// only read its meeting, or does not see it.
func TestRecordingIsJudgedAtEachRequest(t *testing.T) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""))
	s.attachVideo(1)
	address := mediaAddress(1, archive.MediaVideo)
	resp, _ := s.get(address)
	tag := resp.Header.Get("ETag")
	if resp.Header.Get("Cache-Control") != "private, no-cache" || tag == "" {
		t.Errorf("a recording is answered with %v", resp.Header)
	}
	share := func(level archive.ShareLevel) {
		t.Helper()
		if err := s.archive.SetShares(t.Context(), 1, map[string]archive.ShareLevel{archive.UserPrincipal("bo@x.example"): level}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		level archive.ShareLevel
		want  int
		link  bool // the meeting's page has the recording
	}{{archive.ShareStandard, 200, true}, {archive.ShareLimited, 403, false}, {archive.ShareAdmin, 200, true}} {
		share(c.level)
		resp, _ := s.get(address, "Test-Person", "bo@x.example")
		if resp.StatusCode != c.want {
			t.Errorf("with a %s share: %d, want %d", c.level, resp.StatusCode, c.want)
		}
		if _, page := s.get("/meetings/1", "Test-Person", "bo@x.example"); strings.Contains(page, address) != c.link {
			t.Errorf("with a %s share the page has the recording's address: %t", c.level, !c.link)
		}
	}
	if resp, _ := s.get(address, "Test-Person", "bo@x.example", "If-None-Match", tag); resp.StatusCode != 304 {
		t.Errorf("a recording that is held: %d, want 304", resp.StatusCode)
	}
	if resp, _ := s.get(address, "Test-Person", "cy@x.example", "If-None-Match", tag); resp.StatusCode != 404 {
		t.Errorf("a stranger who holds the recording: %d, want 404", resp.StatusCode)
	}
	for _, other := range []string{"/api/v1/meetings/1/media/audio", "/api/v1/meetings/1/media/other", "/api/v1/meetings/2/media/video", "/api/v1/meetings/99/media/video", "/api/v1/meetings/x/media/video"} {
		if resp, _ := s.get(other); resp.StatusCode != 404 {
			t.Errorf("%s: %d, want 404", other, resp.StatusCode)
		}
	}
}

// TestRecordingEndsWithTheRight reads a recording slowly: it ends with the right to it,
// with the meeting when that is forgotten, and with the session.
func TestRecordingEndsWithTheRight(t *testing.T) {
	var out atomic.Bool // the session has ended
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""), meeting(3, "Three", "2026-06-30T17:00:00Z", ""))
	blob, err := s.archive.Media().Put(t.Context(), io.LimitReader(zeros{}, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range s.ids {
		if err := s.archive.AttachMedia(t.Context(), id, archive.MediaVideo, blob); err != nil {
			t.Fatal(err)
		}
		if err := s.archive.SetShares(t.Context(), id, map[string]archive.ShareLevel{archive.UserPrincipal("bo@x.example"): archive.ShareStandard}); err != nil {
			t.Fatal(err)
		}
	}
	fast, err := newServer(Options{Archive: s.archive, Index: s.index, Notes: s.notes, Logger: zerolog.Nop(), Identify: func(r *http.Request) (Visitor, error) {
		if out.Load() {
			return Visitor{}, &failure{http.StatusUnauthorized, "sign in"}
		}
		return identifyTest(r)
	}})
	if err != nil {
		t.Fatal(err)
	}
	fast.bounds.Judge = 10 * time.Millisecond
	server := httptest.NewServer(fast.handler())
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name string
		id   int64
		end  func() error
	}{
		{"forgotten", 1, func() error { _, err := s.archive.Forget(t.Context(), 1, "asked to"); return err }},
		{"limited", 2, func() error {
			return s.archive.SetShares(t.Context(), 2, map[string]archive.ShareLevel{archive.UserPrincipal("bo@x.example"): archive.ShareLimited})
		}},
		{"signed out", 3, func() error { out.Store(true); return nil }},
	} {
		req, err := http.NewRequest(http.MethodGet, server.URL+mediaAddress(c.id, archive.MediaVideo), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Test-Person", "bo@x.example")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
			t.Fatal(err)
		}
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // until the right is judged again, while the answer waits for its reader
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%s: %d more bytes came, to the end", c.name, n)
		}
		resp.Body.Close()
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0
	}
	return len(p), nil
}

func TestPlayerSaysWhereTheRecordingIs(t *testing.T) {
	testrun.SkipUnderRace(t)
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

// TestAnUnreadableRecordingIsNotAbsent asks for a recording that has another length than
// it should have, and for one that cannot be opened.
func TestAnUnreadableRecordingIsNotAbsent(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "T", "2026-06-30T08:00:00Z", ""))
	s.attachVideo(1)
	recordings, err := s.archive.MediaOf(t.Context(), 1)
	if err != nil || len(recordings) != 1 {
		t.Fatal(recordings, err)
	}
	path := media.Path(s.archive.Media(), recordings[0].SHA256)
	for i, damage := range []func() error{
		func() error { return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("another"), 0o600)) },
		func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if resp, body := s.get("/api/v1/meetings/1/media/video"); resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "another") {
			t.Errorf("%d: %s %s", i, resp.Status, body)
		}
	}
}

// TestARecordingThatIsCutOffIsLogged plays a recording of a bucket that begins to answer and breaks
// off: the player cannot be told why, so that the log has to say it.
func TestARecordingThatIsCutOffIsLogged(t *testing.T) {
	testrun.SkipUnderRace(t)
	var isCut atomic.Bool
	bucket := s3test.Start(t).BreakingOff(t, &isCut)
	s := openSiteWith(t, archive.Options{Dir: t.TempDir(), MediaURL: bucket.URL("recordings", "p")}, meeting(1, "T", "2026-06-30T08:00:00Z", ""))
	s.attachVideo(1)
	var log strings.Builder
	s.server.Logger = zerolog.New(zerolog.SyncWriter(&log))
	for _, isCutNow := range []bool{false, true} {
		isCut.Store(isCutNow)
		resp, err := http.Get(s.URL + "/api/v1/meetings/1/media/video")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if isLogged := strings.Contains(log.String(), "read recording"); (err != nil) != isCutNow || isLogged != isCutNow {
			t.Errorf("cut off %t: %v, and the log says %q", isCutNow, err, log.String())
		}
	}
}
