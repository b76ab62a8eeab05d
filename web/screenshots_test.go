package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"minutebook/archive/notes"
	"minutebook/internal/browsertest"
	syncer "minutebook/sync"
)

// screenshots are the pages that make screenshots writes, each in these schemes and
// widths.
var screenshots = []struct {
	name, path string
	shots      []string
}{
	{"home", "/", []string{"desk-light", "desk-dark", "phone-light", "phone-dark"}},
	{"search", "/?q=battery", []string{"desk-light", "desk-dark", "phone-light", "phone-dark"}},
	{"meeting", "/meetings/%d?t=65&q=battery", []string{"desk-light", "desk-dark", "phone-light", "phone-dark"}},
	{"trends", "/trends?q=battery&q=permit", []string{"desk-light", "phone-dark"}},
	{"people", "/people", []string{"desk-light", "phone-dark"}},
	{"actions", "/actions", []string{"desk-dark", "phone-light"}},
	{"calendar", "/calendar", []string{"desk-light", "phone-dark"}},
	{"saved", "/saved", []string{"desk-dark", "phone-light"}},
	{"status", "/status", []string{"desk-light", "phone-dark"}},
}

// TestScreenshots writes pictures of the pages, on invented meetings and with a clock
// that stands, into the directory that MINUTEBOOK_SCREENSHOTS names.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("MINUTEBOOK_SCREENSHOTS")
	if dir == "" {
		t.Skip("MINUTEBOOK_SCREENSHOTS names no directory; make screenshots does")
	}
	s := newSite(t)
	s.attachVideo(s.ids...)
	for _, q := range []string{"battery", "permit type:Sales"} {
		if _, err := s.notes.Save(t.Context(), notes.Owner, q, q); err != nil {
			t.Fatal(err)
		}
	}
	next := map[string]time.Time{syncer.JobWalk: at.Add(9 * time.Hour)}
	s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", Backfilled: true, NextRun: next,
		LastSuccess: map[string]time.Time{syncer.JobWalk: at.Add(-15 * time.Hour)}}}}
	found := s.search("battery")
	browser := browsertest.Start(t)
	for _, p := range screenshots {
		path := p.path
		if p.name == "meeting" {
			path = fmt.Sprintf(path, found)
		}
		for _, shot := range p.shots {
			b := browser.Open(t, s.URL)
			width, height := int64(1280), int64(800)
			if shot[:5] == "phone" {
				width, height = 390, 844
			}
			b.Do(chromedp.EmulateViewport(width, height))
			b.Prefer(map[bool]string{true: "dark", false: "light"}[shot[len(shot)-4:] == "dark"])
			b.Do(chromedp.Navigate(s.URL + path))
			b.WaitFor(`document.readyState === "complete" && document.fonts.status === "loaded" && (document.querySelector("#media")?.readyState ?? 4) >= 2`)
			quality := int64(70)
			picture, err := chromedp.Call(b.Context, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, p.name+"-"+shot+".webp"), picture.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// search returns the first meeting that a query finds.
func (s *site) search(q string) int64 {
	var answer struct {
		Meetings []struct {
			ID int64 `json:"recording_id"`
		}
	}
	s.answer(200, "/api/v1/search?q="+q, &answer)
	if len(answer.Meetings) == 0 {
		s.t.Fatalf("%s finds nothing", q)
	}
	return answer.Meetings[0].ID
}
