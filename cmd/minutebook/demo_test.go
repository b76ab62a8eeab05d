package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

func status(t *testing.T, dir string) control.StatusResult {
	t.Helper()
	return runJSON[control.StatusResult](t, "status", "--data", dir)
}

// TestDemo follows the main job over the real program: backfill over HTTP, signed
// deliveries, recordings, index, search, an assistant, the page and a browser.
func TestDemo(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "demo", "--dir", dir)
	found := searchUntilFound(t, dir, "the")
	if len(found.Meetings) == 0 || len(found.Meetings[0].Moments) == 0 {
		t.Fatalf("found no moments: %+v", found)
	}
	if text := searchAsAssistant(t, dir); !strings.Contains(text, p.url+"/meetings/") {
		t.Errorf("no link to the running page in %s", text)
	}
	eventually(t, "deliveries arrive and recordings are fetched", func() (bool, any) {
		s := status(t, dir)
		return s.Inbox.Applied >= 2 && s.WithRecording > 5 && s.Indexed == s.Meetings, s
	})
	checkPage(t, p.url, found)
	t.Run("browser", func(t *testing.T) { followInBrowser(t, p.url) })
	p.stop()
	after := status(t, dir)
	if after.Running || after.Meetings == 0 || after.Indexed != after.Meetings {
		t.Errorf("after the stop, without a daemon: %+v", after)
	}
	again := runJSON[control.SearchResult](t, "search", "--data", dir, "the")
	if again.Total < found.Total {
		t.Errorf("found %d meetings in the running demo, %d after it", found.Total, again.Total)
	}
	searchAsAssistant(t, dir)
}

func searchUntilFound(t *testing.T, dir, query string) control.SearchResult {
	t.Helper()
	var r control.SearchResult
	eventually(t, "a search finds something", func() (bool, any) {
		r = runJSON[control.SearchResult](t, "search", "--data", dir, query)
		return r.Total > 0, r
	})
	return r
}

// checkPage walks the way a reader takes: the search, the meeting at the
// moment found, the recording from that second.
func checkPage(t *testing.T, url string, found control.SearchResult) {
	t.Helper()
	page := get(t, url+"/?q=the")
	if !strings.Contains(page, "<mark>") {
		t.Error("the results show no highlighted hit")
	}
	link := regexp.MustCompile(`/meetings/\d+\?t=\d+`).FindString(page)
	if link == "" {
		t.Fatal("no result links to a moment")
	}
	get(t, url+link)
	meeting := get(t, fmt.Sprintf("%s/meetings/%d", url, withRecording(t, url, found)))
	media := regexp.MustCompile(`src="(/api/v1/meetings/[0-9]+/media/[^"]+)"`).FindStringSubmatch(meeting)
	if media == nil {
		t.Fatal("the meeting's page has no recording")
	}
	req, err := http.NewRequest(http.MethodGet, url+strings.ReplaceAll(media[1], "&amp;", "&"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=100-199")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent || resp.ContentLength != 100 {
		t.Errorf("a range of the recording: %s, %d bytes", resp.Status, resp.ContentLength)
	}
}

// withRecording picks a found meeting whose recording is there.
func withRecording(t *testing.T, url string, found control.SearchResult) int64 {
	t.Helper()
	for _, m := range found.Meetings {
		if strings.Contains(get(t, fmt.Sprintf("%s/meetings/%d", url, m.RecordingID)), "/media/") {
			return m.RecordingID
		}
	}
	t.Fatal("no meeting found has a recording")
	return 0
}

// TestDemoSurvivesKill kills the demo in the middle of its work and starts it
// again on the same data: nothing that was acknowledged is lost, and it goes
// on to the end. --data names the directory as --dir does.
func TestDemoSurvivesKill(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "demo", "--data", dir)
	eventually(t, "deliveries arrive", func() (bool, any) {
		s := status(t, dir)
		return s.Inbox.Applied >= 2, s
	})
	before := status(t, dir)
	p.kill()
	p = start(t, "demo", "--dir", dir)
	eventually(t, "the archive goes on to more than it had", func() (bool, any) {
		s := status(t, dir)
		return s.Meetings > before.Meetings && s.Indexed == s.Meetings && s.Inbox.Received == 0, s
	})
	after := status(t, dir)
	if after.Inbox.Applied < before.Inbox.Applied || after.WithTranscript < before.WithTranscript {
		t.Errorf("before the kill %+v, after it %+v", before, after)
	}
	p.stop()
}
