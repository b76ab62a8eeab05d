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
		"default_summary":{"template_name":"General","markdown_formatted":"They [counted](https://svc.example/%d?timestamp=2101.5)."},
		"highlights":[{"type":"Moment","summary":"The count","start_time":3100,"end_time":3110},
			{"type":"Moment","summary":"The report","start_time":3290,"end_time":3300},{"type":"Moment","summary":"The end","start_time":3485,"end_time":3490}],
		"url":"https://svc.example/%d","transcript":[%s]`, id, id, b.String()[1:]))
}

// frameLoop measures 200 frames, in each of which step runs.
const frameLoop = `window.frames_ = []; window.done_ = false;
	(() => { let last, n = 0; const loop = now => {
		if (last) frames_.push(now - last);
		last = now; step(n);
		if (++n < 200) requestAnimationFrame(loop); else { frames_.sort((a, b) => a - b); window.done_ = true; }
	}; setTimeout(() => requestAnimationFrame(loop), 300); })()`

// BenchmarkFrames reports how long the frames of a transcript of 5,000 entries take: plain,
// which is the same page without its style, while scrolling and while following a
// recording. On a busy machine only the ratio to plain says something.
func BenchmarkFrames(b *testing.B) {
	s := newSite(b, longMeeting(1, 5000))
	s.attachVideo(1)
	chromium := browsertest.Start(b)
	const scroll = `const step = () => scrollBy({ top: 300, behavior: "instant" });`
	for b.Loop() {
		plain := 0.0
		for _, mode := range [][2]string{
			{"plain", `for (const sheet of document.styleSheets) sheet.disabled = true;` + scroll},
			{"scroll", scroll},
			{"follow", `const m = document.querySelector("#media"); let t = 0;
				Object.defineProperties(m, { currentTime: { get: () => t, set() {} }, paused: { get: () => false }, duration: { get: () => 3600 } });
				const step = n => { if (n % 30 === 0) { t += 1.4; m.dispatchEvent(new Event("timeupdate")); } };`},
		} {
			browser := chromium.Open(b, s.URL)
			browser.Do(chromedp.Navigate(s.URL + "/meetings/1"))
			browser.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
			browser.Do(chromedp.Evaluate[chromedp.Void](`{ ` + mode[1] + frameLoop + ` }`))
			browser.WaitFor(`window.done_ === true`)
			p95 := browsertest.Evaluate[float64](browser, `frames_[Math.floor(frames_.length * 0.95)]`)
			b.ReportMetric(p95, mode[0]+"-p95-ms")
			if mode[0] == "plain" {
				plain = p95
			} else {
				b.ReportMetric(p95/plain, mode[0]+"/plain")
			}
		}
	}
}
