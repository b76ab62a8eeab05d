package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/browsertest"
	"minutebook/internal/residue"
	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

func TestClipsAreTakenAway(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	s.attachVideo(s.ids[0])
	id := itoa(s.ids[0])
	const span = "?t=1:10&end=1:12"
	body := s.shows(200, "/meetings/"+id+span, `href="/meetings/`+id+`/clip.vtt?end=72&amp;t=70"`)
	s.shows(400, "/meetings/"+id+"/clip.vtt?t=5", "A clip is asked for")
	if captions := s.shows(200, "/meetings/"+id+"/clip.vtt"+span, "WEBVTT\n\n00:00:00.000 --> "); strings.Contains(captions, "00:00:03") {
		t.Errorf("the captions go on after the clip: %s", captions)
	}
	for address, want := range map[string]int{"/api/v1/meetings/" + id + "/media/clip?t=5": 400, "/api/v1/meetings/1/media/clip" + span: 404,
		"/api/v1/meetings/" + itoa(s.ids[1]) + "/media/clip" + span: 404} {
		s.shows(want, address)
	}
	if resp, _ := s.get("/api/v1/meetings/"+id+"/media/clip"+span, "Test-Person", "eve@other.example"); resp.StatusCode != 404 {
		t.Errorf("a stranger is answered %d", resp.StatusCode)
	}
	if s.server.Clips == nil {
		if !strings.Contains(body, "ffmpeg, which is not installed") {
			t.Error("the page does not say why there is no file")
		}
		s.shows(501, "/api/v1/meetings/"+id+"/media/clip"+span, "ffmpeg")
		testrun.Lack(t, "ffmpeg")
	}
	if !strings.Contains(body, ">As a file</a>") {
		t.Error("the page offers no file")
	}
	resp, clip := s.get("/api/v1/meetings/" + id + "/media/clip" + span)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "video/mp4" || !strings.Contains(clip[:min(64, len(clip))], "ftyp") {
		t.Errorf("the clip is %d %s, %d bytes", resp.StatusCode, kind, len(clip))
	}
	s.shows(200, "/api/v1/meetings/"+id+"/media/clip?t=3599&end=3700")
	for _, beyond := range []string{"?t=3600&end=3610", "?t=5000&end=5010"} {
		s.shows(404, "/api/v1/meetings/"+id+"/media/clip"+beyond, "ends before")
		if captions := s.shows(200, "/meetings/"+id+"/clip.vtt"+beyond, "WEBVTT"); strings.Contains(captions, "-->") {
			t.Errorf("%s: the last line of the meeting is said again: %s", beyond, captions)
		}
	}
	s.server.Clips = nil
	s.shows(501, "/api/v1/meetings/"+id+"/media/clip"+span, "ffmpeg")
	s.shows(200, "/meetings/"+id+span, "ffmpeg, which is not installed")
}

// TestClipsThatAreRefusedSayWhyOnAPage follows the page's link to a clip that there is not: a
// reader is answered with a page, and with the way in where the session has ended.
func TestClipsThatAreRefusedSayWhyOnAPage(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newEntrySite(t, nil)
	s.apply(meeting(1, "Walrus", "2026-06-10T09:00:00Z", ""))
	s.signIn("ana@acme.example", false)
	for _, each := range []struct{ mode, kind string }{{"navigate", "text/html; charset=utf-8"}, {"cors", "application/problem+json"}, {"", "application/problem+json"}} {
		resp, body := s.do("GET", "/api/v1/meetings/1/media/clip?t=1&end=2", nil, "Sec-Fetch-Mode", each.mode)
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 404 || kind != each.kind || strings.Contains(body, "<h1>") != (each.mode == "navigate") {
			t.Errorf("mode %q is answered %d with %s", each.mode, resp.StatusCode, kind)
		}
	}
	s.Client = newBrowser(t)
	resp, _ := s.do("GET", "/api/v1/meetings/1/media/clip?t=1&end=2", nil, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	if to := resp.Header.Get("Location"); resp.StatusCode != 303 || to != "/login?next=%2Fmeetings%2F1%3Ft%3D1%26end%3D2" {
		t.Errorf("without a session: %d to %q", resp.StatusCode, to)
	}
}

// TestNoClipIsLeftOfAForgottenMeeting forgets meetings while ffmpeg has written a clip of a
// recording, and goes on: that of another meeting does not end it.
func TestNoClipIsLeftOfAForgottenMeeting(t *testing.T) {
	bin := t.TempDir()
	const program = "#!/bin/sh\nfor clip; do :; done\nwhile [ \"$1\" != -i ]; do shift; done\n/bin/cat \"${2#file:}\" >\"${clip#file:}\"\necho >\"${0%/*}\"/written\nexec /bin/sleep 600\n"
	if err := os.WriteFile(filepath.Join(bin, "ffmpeg"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	s := openSiteWith(t, archive.Options{Dir: t.TempDir()}, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""), meeting(2, "Other", "2026-06-30T16:00:00Z", ""))
	blob, err := s.archive.Media().Put(t.Context(), strings.NewReader("Xylophonist"))
	if err == nil {
		err = s.archive.AttachMedia(t.Context(), 1, archive.MediaAudio, media.Blob{SHA256: blob.SHA256, ContentType: "audio/mp4"})
	}
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		resp, _ := s.get("/api/v1/meetings/1/media/clip?t=1&end=5")
		answered <- resp.StatusCode
	}()
	for written := false; !written; time.Sleep(10 * time.Millisecond) {
		if len(answered) > 0 {
			t.Fatalf("no clip is written: the answer is %d", <-answered)
		}
		_, err := os.Stat(filepath.Join(bin, "written"))
		written = err == nil
	}
	for _, id := range []int64{2, 1} {
		if _, err := s.archive.Forget(t.Context(), id, "asked for"); err != nil {
			t.Fatal(err)
		}
		clips, err := filepath.Glob(filepath.Join(clipDir(s.archive), "*clip*"))
		if left := len(clips) > 0; err != nil || left != (id == 2) {
			t.Errorf("meeting %d is forgotten, and of the clip of meeting 1 there is %v, %v", id, clips, err)
		}
	}
	if found := residue.Find(t, "Xylophonist", s.archive.Dir()); found != nil {
		t.Errorf("forgotten, and it is in %v", found)
	}
	if status := <-answered; status != 404 {
		t.Errorf("the clip is answered %d", status)
	}
}

// TestClipsOfABucket cuts a clip of a recording in a bucket, and asks for one when the
// bucket cannot be reached and when it goes away in the middle.
func TestClipsOfABucket(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.Program(t, "ffmpeg")
	var isAway, isCut atomic.Bool
	bucket := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet && isCut.Load():
				w.Header().Set("Content-Length", "100000")
				panic(http.ErrAbortHandler)
			case isAway.Load():
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
			default:
				server.ServeHTTP(w, r)
			}
		})
	})
	s := openSiteWith(t, archive.Options{Dir: t.TempDir(), MediaURL: bucket.URL("recordings", "p")},
		meeting(1, "Plan", "2026-06-30T15:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"Words.","timestamp":"00:00:10"}]`))
	s.attachVideo(1)
	const address = "/api/v1/meetings/1/media/clip?t=3&end=5"
	if body := s.shows(200, "/meetings/1?t=3&end=5"); !strings.Contains(body, ">As a file</a>") {
		t.Error("the page offers no file")
	}
	resp, clip := s.get(address)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "video/mp4" || !strings.Contains(clip[:min(64, len(clip))], "ftyp") {
		t.Errorf("the clip is %d %s, %d bytes", resp.StatusCode, kind, len(clip))
	}
	isCut.Store(true)
	s.shows(503, address, "cannot be read at present")
	isAway.Store(true)
	s.shows(503, address, "cannot be read at present")
	if left, err := filepath.Glob(filepath.Join(s.archive.Dir(), "media", "*", "*clip*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}

// noteCopies is a script that takes the texts which are copied to the clipboard.
const noteCopies = `Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => { window.copied_ = text; } } })`

// browserQuotes selects words of two lines and copies them as a quote and as a clip.
func browserQuotes(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "Plan *B*", "2026-06-30T15:00:00Z", `"transcript":[
		{"speaker":{"display_name":"Bo Lee"},"text":"Good morning all.","timestamp":"00:00:10"},
		{"speaker":{"display_name":"Ana_R"},"text":"We [ship] on <b>Friday</b>.","timestamp":"00:00:14"},
		{"speaker":{"display_name":"Bo Lee"},"text":"Fine.","timestamp":"00:00:20"}]`),
		[]byte(`{"recording_id":2,"title":"Odd walrus","transcript":[{"speaker":{"display_name":"Dan"},"text":"A walrus.","timestamp":"00:00:01"}]}`))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => {
		` + noteCopies + `;
		const [a, b] = document.querySelectorAll(".lines p");
		getSelection().setBaseAndExtent(a.firstChild, 5, b.firstChild, 9);
	})()`))
	b.WaitFor(`document.querySelector(".quotebar")?.hidden === false`)
	press := func(name, want string) {
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll(".quotebar button")].find(b => b.title.includes(%q)).click()`, name)))
		b.WaitFor(fmt.Sprintf(`window.copied_ === %q`, strings.ReplaceAll(want, "URL", s.URL+"/meetings/1")))
	}
	press("date and link", "Bo Lee: “morning all.”\nAna_R: “We [ship]”\n— Plan *B*, 30 June 2026, 0:10\nURL?t=10")
	press("as Markdown", "> **Bo Lee:** morning all.\n>\n> **Ana\\_R:** We \\[ship\\]\n>\n> — [Plan \\*B\\*, 30 June 2026, 0:10](URL?t=10)\n")
	press("plays just", "URL?t=10.1&end=15.2")
	// What is near the beginning of a line does not lead to the line before.
	b.Do(chromedp.Evaluate[chromedp.Void](`(p => getSelection().setBaseAndExtent(p.firstChild, 3, p.firstChild, 9))(document.querySelector("#e1 p"))`))
	b.WaitFor(`document.querySelector(".quotebar a").href.includes("?t=14&end=15.2")`)
	press("date and link", "Ana_R: “[ship]”\n— Plan *B*, 30 June 2026, 0:14\nURL?t=14")
	b.Do(chromedp.Evaluate[chromedp.Void](`getSelection().removeAllRanges()`))
	b.WaitFor(`document.querySelector(".quotebar").hidden`)

	// A meeting without a date is quoted without one.
	b.Do(chromedp.Navigate(s.URL + "/meetings/2"))
	b.Do(chromedp.Evaluate[chromedp.Void](noteCopies + `, getSelection().selectAllChildren(document.querySelector(".lines p"))`))
	b.WaitFor(`document.querySelector(".quotebar")?.hidden === false`)
	press("date and link", "Dan: “A walrus.”\n— Odd walrus, 0:01\n"+s.URL+"/meetings/2?t=1")
	press("as Markdown", "> **Dan:** A walrus.\n>\n> — [Odd walrus, 0:01]("+s.URL+"/meetings/2?t=1)\n")
}

// browserCopiesTheMoment copies links to meetings without a recording: to the line of the reader,
// else to the moment of the address.
func browserCopiesTheMoment(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 500), meeting(2, "No talk", "2026-06-10T09:00:00Z", ""))
	b := c.Open(t, s.URL)
	for _, each := range []struct{ page, keys, moment string }{{"1", "jjj", "14"}, {"1?t=701", "", "700"}, {"1", "", "0"}, {"2?t=83", "", "83"}} {
		b.Do(chromedp.Navigate(s.URL + "/meetings/" + each.page))
		b.WaitFor(`!!document.querySelector("[role=status]")`)
		b.Do(chromedp.Evaluate[chromedp.Void](noteCopies))
		for _, key := range each.keys + "c" {
			b.Press(string(key))
		}
		b.WaitFor(`!!window.copied_ && document.querySelector("body > [role=status]").textContent === "Copied"`)
		takePicture(t, b, "copied"+each.moment)
		if got := browsertest.Evaluate[string](b, `copied_`); got != s.URL+"/meetings/"+each.page[:1]+"?t="+each.moment {
			t.Errorf("%s, %q: %s is copied", each.page, each.keys, got)
		}
		b.WaitFor(`document.querySelector("body > [role=status]").textContent === ""`)
	}
}
