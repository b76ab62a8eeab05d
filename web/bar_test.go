package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
)

// late is a meeting of a minute with lines, highlights and action items after its end.
func late(id int64) []byte {
	return meeting(id, "Late", "2026-06-30T08:00:00Z", `"recording_end_time":"2026-06-30T08:01:00Z",
		"transcript":[{"speaker":{"display_name":"Ana"},"text":"A walrus.","timestamp":"00:00:10"},{"speaker":{"display_name":"Ana"},"text":"Walrus two.","timestamp":"00:01:00"},
			{"speaker":{"display_name":"Bo"},"text":"A late walrus.","timestamp":"00:01:10"},{"speaker":{"display_name":"Bo"},"text":"A later walrus.","timestamp":"30:00:00"},
			{"speaker":{"display_name":"Bo"},"text":"An early walrus.","timestamp":"00:00:05"}],
		"highlights":[{"type":"Moment","summary":"Within","start_time":60,"end_time":70},{"type":"Moment","summary":"Beyond","start_time":61,"end_time":90}],
		"action_items":[{"description":"Feed it","recording_timestamp":"00:00:50"},{"description":"Feed it late","recording_timestamp":"00:02:00"}]`)
}

// TestTheBarEndsWithTheMeeting counts the marks on the bar: nothing piles up at its end,
// and whatever lies beyond it says so.
func TestTheBarEndsWithTheMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, late(1), meeting(2, "Endless", "2026-06-30T08:00:00Z", `"highlights":[{"type":"Moment","summary":"Somewhere","start_time":61,"end_time":90}]`))
	body := s.shows(200, "/meetings/1?q=walrus", `aria-label="Highlight: Within, 1:00"`, `<rect class="hl" x="996.0"`, `aria-label="Action item: Feed it, 0:50"`)
	for _, beyond := range []string{"Highlight: Beyond", "Action item: Feed it late"} {
		if strings.Contains(body, `aria-label="`+beyond) {
			t.Errorf("the bar has %s", beyond)
		}
	}
	bar := regexp.MustCompile(`(?s)<svg class="timeline".*?</svg>`).FindString(body)
	if hits := regexp.MustCompile(`(?s)<g class="hits">(.*?)</g>`).FindString(bar); strings.Count(hits, "<rect") != 3 {
		t.Errorf("the lines that match are drawn as %s", hits)
	}
	if talk := strings.Count(bar, "M"); talk != 2 {
		t.Errorf("%d spans of talk are drawn: %s", talk, bar)
	}
	if said := strings.Count(body, "after the end of the meeting<"); said != 1 {
		t.Errorf("%d lines say that they are late, want the first", said)
	}
	if said := strings.Count(body, `<span class="tag">after the end</span>`); said != 2 {
		t.Errorf("%d highlights and action items say that they are late", said)
	}
	if strings.Contains(s.shows(200, "/meetings/2", "Somewhere"), "after the end") {
		t.Error("a meeting without an end has things after it")
	}
}

// browserDrawsWhatItFinds searches within a meeting whose times run backwards: each line that
// matches is drawn, those after the end are not.
func browserDrawsWhatItFinds(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, late(1))
	s.attachVideo(1)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
	b.WaitFor(`[...document.querySelectorAll(".beyond")].map(e => e.textContent + e.closest("li").id).join() === "after the end of the meetinge2,after the end of the recordinge3"`)
	b.Do(chromedp.SendKeys(chromedp.CSS("input[name=find]"), "walrus"))
	b.WaitFor(`document.querySelector(".count").textContent.startsWith("5 lines")`)
	b.WaitFor(`[...document.querySelectorAll(".hits rect")].map(r => Math.round(r.getAttribute("x"))).join() === "167,998,83"`)
}

// browserKeepsTimesWhole looks at the times of a day's talk: none of them breaks within.
func browserKeepsTimesWhole(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "Long", "2026-06-30T08:00:00Z", `"recording_end_time":"2026-07-01T10:00:00Z",
		"transcript":[{"speaker":{"display_name":"Ana"},"text":"A walrus.","timestamp":"01:00:10"},{"speaker":{"display_name":"Ana"},"text":"A late walrus.","timestamp":"25:00:00"}],
		"highlights":[{"type":"Moment","summary":"A highlight that needs more than a line on a small telephone","start_time":90000,"end_time":90010}],
		"action_items":[{"description":"Feed the walrus, and do not forget its sisters and brothers","recording_timestamp":"25:00:00","assignee":{"name":"Ana"}}]`))
	b := c.Open(t, s.URL)
	for _, width := range []int64{390, 1280} {
		b.Do(chromedp.EmulateViewport(width, 850))
		for _, page := range []string{"/?q=walrus", "/meetings/1", "/actions", "/people/ana"} {
			b.Do(chromedp.Navigate(s.URL + page))
			broken := browsertest.Evaluate[string](b, `[...document.querySelectorAll("main .clock")].filter(e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length !== 1; }).map(e => e.textContent).join()`)
			if broken != "" || browsertest.Evaluate[int](b, `document.querySelectorAll("main .clock").length`) == 0 {
				t.Errorf("%s, %d wide: the times %q break, or there are none", page, width, broken)
			}
		}
	}
}
