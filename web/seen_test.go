package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/internal/browsertest"
)

// browserLandsAtTheSecond follows a link from before the transcript was another one.
func browserLandsAtTheSecond(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 500))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1?t=2000#e3"))
	b.WaitFor(`!!document.querySelector(".lines .here")`)
	b.WaitFor(shown)
}

// backwards is a transcript whose times run backwards, after an entry beyond the recording.
func backwards() json.RawMessage {
	var entries []string
	for i, at := range []string{"00:00:00", "00:00:10", "00:00:05", "00:00:05", "30:00:00", "00:00:20"} {
		entries = append(entries, fmt.Sprintf(`{"speaker":{"display_name":"Ana"},"text":"Line %d.","timestamp":%q}`, i, at))
	}
	return meeting(1, "Backwards", "2026-06-30T08:00:00Z", `"recording_end_time":"2026-06-30T08:01:00Z","transcript":[`+strings.Join(entries, ",")+`]`)
}

// browserKnowsTheLine looks at the line of moments of a transcript whose times run backwards.
func browserKnowsTheLine(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, backwards())
	s.attachVideo(1)
	b := c.Open(t, s.URL)
	for at, line := range map[string]string{"0": "e0", "7": "e2", "12": "e1", "25": "e5"} {
		b.Do(chromedp.Navigate(s.URL + "/meetings/1?t=" + at))
		b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
		if here := browsertest.Evaluate[string](b, `document.querySelector(".lines .here, .lines .now").id`); here != line {
			t.Errorf("at %s it shows %s, not %s", at, here, line)
		}
	}
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#media").currentTime = 7`))
	b.WaitFor(`document.querySelector(".lines .now")?.id === "e2"`)
	resp, vtt := s.get("/meetings/1/clip.vtt?t=7&end=11")
	if resp.StatusCode != 200 || strings.Index(vtt, "Line 2.") > strings.Index(vtt, "Line 1.") || !strings.Contains(vtt, "Line 3.") {
		t.Errorf("the clip is %s", vtt)
	}
}

// browserClosesByEscape closes the bar of the selected words and suggestions that are of no text.
func browserClosesByEscape(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 100))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.Do(chromedp.Evaluate[chromedp.Void](`getSelection().selectAllChildren(document.querySelector("#e3 p"))`))
	b.WaitFor(`!document.querySelector(".quotebar").hidden`)
	b.Do(chromedp.Focus(chromedp.CSS(".quotebar button")))
	b.Press(kb.Escape)
	b.WaitFor(`document.querySelector(".quotebar").hidden && !String(getSelection()) && document.activeElement.closest("li")?.id === "e3"`)

	b.Do(chromedp.SendKeys(chromedp.CSS("input[name=q]"), "walr"))
	b.WaitFor(`!!document.querySelector("#suggestions li")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`window.fetch = async () => { throw new TypeError("away"); }`), chromedp.SendKeys(chromedp.CSS("input[name=q]"), "x"))
	b.WaitFor(`document.querySelector("#suggestions").hidden`)
	b.Press(kb.Escape)
	if left := browsertest.Evaluate[string](b, `document.activeElement.tagName + document.querySelector("input[name=q]").value`); left != "BODYwalrx" {
		t.Errorf("escape leaves %s", left)
	}
}

// browserIsSeenInFewColours looks at a meeting in forced colours, low, and printed.
func browserIsSeenInFewColours(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	s.changes("/meetings/"+itoa(s.ids[0])+"/notes", map[string][]string{"do": {"add"}, "text": {"A note."}}, "/meetings/"+itoa(s.ids[0])+"#note1")
	b := c.Open(t, s.URL)
	emulate := func(media emulation.SetEmulatedMediaParams) {
		if _, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
	}
	emulate(emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}})
	b.Do(chromedp.Navigate(s.URL + "/meetings/" + itoa(s.ids[0]) + "?t=60"))
	b.WaitFor(`!!document.querySelector(".lines .now") && !!document.querySelector(".controls [aria-pressed]")`)
	for _, plain := range []string{".lines > li:not(.now, .here)", ".controls button:not([aria-pressed])"} {
		marked := map[bool]string{true: ".lines .now", false: ".controls [aria-pressed=true]"}[plain[1] == 'l']
		if browsertest.Evaluate[bool](b, fmt.Sprintf(`(style => style(%q) === style(%q))(of => { const s = getComputedStyle(document.querySelector(of)); return s.outlineStyle + s.borderLeftColor; })`, marked, plain)) {
			t.Errorf("%s looks as %s does", marked, plain)
		}
	}
	emulate(emulation.SetEmulatedMediaParams{Media: "print"})
	b.WaitFor(`document.querySelector(".notes .text > p").checkVisibility() && !document.querySelector(".notes summary").checkVisibility()`)
	emulate(emulation.SetEmulatedMediaParams{})
	b.Do(chromedp.EmulateViewport(320, 256)) // 1280 by 1024, four times as large
	b.WaitFor(`(e => { e.focus(); const r = e.getBoundingClientRect(), d = e.closest(".deck").getBoundingClientRect(); return r.top >= d.top - 1 && r.bottom <= d.bottom + 1; })([...document.querySelectorAll(".controls button")].filter(b => b.checkVisibility()).at(-1))`)
}

// browserShowsItsButtons walks by the Tab key to the button of the search box, which is seen by
// that alone: it lies within the box, over nothing that is to be read or pressed.
func browserShowsItsButtons(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	for _, width := range []int64{1280, 390} {
		for _, page := range []string{"/", "/saved"} {
			b.Do(chromedp.EmulateViewport(width, 850), chromedp.Navigate(s.URL+page))
			before := browsertest.Evaluate[float64](b, `document.querySelector("input[name=q]").offsetWidth`)
			b.Do(chromedp.Focus(chromedp.CSS("input[name=q]")), chromedp.KeyEvent(kb.Tab))
			if wrong := browsertest.Evaluate[string](b, fmt.Sprintf(`(() => {
				const button = document.activeElement, box = document.querySelector("input[name=q]"), r = button.getBoundingClientRect(), room = box.getBoundingClientRect();
				const crosses = e => { const o = e.getBoundingClientRect(); return e.checkVisibility({ visibilityProperty: true }) && o.left < r.right && o.right > r.left; };
				return [button.type !== "submit" && "another button has the focus", box.offsetWidth !== %v && "the box changes its width", (r.top < room.top || r.bottom > room.bottom || r.right > room.right) && "it stands out of the box",
					[...button.form.querySelectorAll("kbd, .howto")].some(crosses) && "it covers something"].filter(Boolean).join(", "); })()`, before)); wrong != "" {
				t.Errorf("%s, %d wide: %s", page, width, wrong)
			}
		}
	}
}
