package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"minutebook/api"
	"minutebook/internal/browsertest"
)

// longMeeting is an hour with many entries of a sentence or two, every hundredth of
// which says "walrus", and with an action item and a highlight near its end.
func longMeeting(id int64, entries int) json.RawMessage {
	var b strings.Builder
	for i := range entries {
		words := strings.Repeat("and then we looked at how the numbers came together ", 1+i%4)
		if i%100 == 50 {
			words += "walrus"
		}
		fmt.Fprintf(&b, `,{"speaker":{"display_name":"Speaker %d"},"text":"%d %s","timestamp":"%s"}`,
			i/3%6, i, words, api.FormatOffset(time.Duration(i*3500/entries)*time.Second))
	}
	return meeting(id, "A long meeting", "2026-06-30T08:00:00Z", fmt.Sprintf(
		`"recording_end_time":"2026-06-30T09:00:00Z",
		"action_items":[{"description":"Count the walruses","recording_timestamp":"00:50:00","assignee":{"name":"Ana Ruiz"}}],
		"highlights":[{"type":"Moment","summary":"The count","start_time":3100,"end_time":3110}],
		"transcript":[%s]`, b.String()[1:]))
}

// BenchmarkScroll scrolls a transcript of 5,000 entries and reports how long
// the frames take.
func BenchmarkScroll(b *testing.B) {
	s := newSite(b, longMeeting(1, 5000))
	s.attachVideo(1)
	browser := browsertest.Start(b).Open(b, s.URL)
	for b.Loop() {
		browser.Do(chromedp.Navigate(s.URL + "/meetings/1"))
		browser.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
		browser.Do(chromedp.Evaluate[chromedp.Void](`window.frames_ = [];
			(() => { let last, n = 0; const step = now => {
				if (last) frames_.push(now - last);
				last = now; scrollBy({ top: 300, behavior: "instant" });
				if (++n < 300) requestAnimationFrame(step); else { frames_.sort((a, b) => a - b); window.done_ = true; }
			}; requestAnimationFrame(step); })()`))
		browser.WaitFor(`window.done_ === true`)
		b.ReportMetric(browsertest.Evaluate[float64](browser, `frames_[150]`), "p50-ms")
		b.ReportMetric(browsertest.Evaluate[float64](browser, `frames_[Math.floor(frames_.length * 0.95)]`), "p95-ms")
	}
}
