package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
)

// browserReadsAroundTheTalk opens addresses of a second, goes from questions to the talk, reads
// the changes of a version, merges people and parts them again, and walks to action items, days
// and a feed.
func browserReadsAroundTheTalk(t *testing.T, c *browsertest.Chromium) {
	const start = "2026-06-01T10:00:00Z"
	talk := func(summary string) []byte {
		var lines []string
		for i := range 120 {
			lines = append(lines, fmt.Sprintf(`{"speaker":{"display_name":"Bo Lee"},"text":"Word %d of a long talk.","timestamp":"00:%02d:%02d"}`, i, i/6, i%6*10))
		}
		lines = append(lines, `{"speaker":{"display_name":"Ana"},"text":"Shall we end it here?","timestamp":"00:20:00"}`)
		return meeting(3, "Plan", "2026-06-30T15:00:00Z", `"recording_end_time":"2026-06-30T15:50:00Z","default_summary":{"markdown_formatted":"`+summary+`"},
			"transcript":[`+strings.Join(lines, ",")+`]`)
	}
	s := newSite(t, spoken(1, start, "Bo Lee", "bo@acme.example"), spoken(2, "2026-06-02T10:00:00Z", "Robert", "rob@acme.example"), talk("We ship on Friday, all of it."))
	later := at.Add(time.Hour)
	s.now.Store(&later)
	s.later(talk("We ship on Monday, all of it."))
	s.attachVideo(3)
	b := c.Open(t, s.URL)
	click := func(selector string) { b.Do(chromedp.Click(chromedp.CSS(selector))) }

	for form, second := range map[string]string{"83": "83", "83s": "83", "1:23": "83", "0:01:23": "83", "1m23s": "83"} {
		b.Do(chromedp.Navigate(s.URL + "/meetings/3?t=" + form))
		b.WaitFor(`document.querySelector("#media")?.readyState >= 1 && Math.abs(document.querySelector("#media").currentTime - ` + second + `) < 0.5`)
	}
	b.WaitFor(shown)
	click("#questions summary")
	click("#questions a.clock")
	b.WaitFor(`Math.abs(document.querySelector("#media").currentTime - 1200) < 15 && document.querySelector(".lines .now p")?.textContent === "Shall we end it here?"`)
	b.WaitFor(shown)

	click(".revisions summary")
	b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".revisions tr")].find(r => r.textContent.includes("current") && r.textContent.includes("Summary")).querySelector("a").click()`))
	b.WaitFor(`location.pathname.startsWith("/meetings/3/versions/") && document.querySelector(".differences del")?.textContent === "Friday," && document.querySelector(".differences ins")?.textContent === "Monday,"`)

	b.Do(chromedp.Navigate(s.URL + "/people/bo@acme.example"))
	meetings := func(n string) {
		b.WaitFor(`document.querySelector(".facts dd")?.textContent === "` + n + `"`)
	}
	meetings("1")
	click(".merging summary")
	b.Do(chromedp.SendKeys(chromedp.CSS(".merging input[name=other]"), "rob@acme.example"))
	click(".merging .fields button")
	meetings("2")
	b.WaitFor(`document.querySelectorAll("main .day .row").length === 2`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".merging").open = true`))
	click(`.merging [aria-label^="Undo"]`)
	meetings("1")

	b.Do(chromedp.Navigate(s.URL + "/actions"))
	b.WaitFor(`document.querySelectorAll("section.person").length === 2`)
	b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".side a")].find(a => a.textContent.includes("Robert")).click()`))
	b.WaitFor(`document.querySelectorAll("section.person").length === 1 && document.querySelector("main").textContent.includes("Send 2")`)
	b.Do(chromedp.Navigate(s.URL + "/calendar?year=2026"))
	click(`.year a[href$="2026-06-30"], .year a[aria-label^="30 June"], .year a[title*="30 June"]`)
	b.WaitFor(`document.querySelector("main").textContent.includes("Plan")`)

	b.Do(chromedp.Navigate(s.URL+"/?q=talk"), chromedp.Click(chromedp.CSS(".save summary")), chromedp.Click(chromedp.CSS(".save form button")))
	b.WaitFor(`location.pathname === "/saved"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".saved details").open = true; document.querySelector('.saved [action$="/feed"] button').click()`))
	b.WaitFor(`!!document.querySelector(".secret code")`)
	feed := browsertest.Evaluate[string](b, `document.querySelector(".secret code").textContent`)
	s.shows(200, strings.TrimPrefix(feed, s.URL), `<feed xmlns="http://www.w3.org/2005/Atom"`, "Plan")
}
