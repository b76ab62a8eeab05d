package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/internal/browsertest"
	"minutebook/search/text"
)

// browserSearchesWithin finds words in a meeting of 500 lines, five of which have a
// walrus, as one types.
func browserSearchesWithin(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 500))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.Press("/")
	b.WaitFor(`document.activeElement?.name === "find"`)
	b.Do(chromedp.KeyEvent("WALRÚS"))
	count := func(text string) {
		b.WaitFor(fmt.Sprintf(`document.querySelector(".within .count").textContent === %q`, text))
	}
	count("5 lines")
	b.WaitFor(`CSS.highlights.get("found").size === 5 && document.querySelectorAll(".timeline .hits rect").length === 5`)
	b.WaitFor(`[...CSS.highlights.get("found")].every(r => r.toString() === "walrus")`)
	for _, want := range []struct{ key, count, line string }{{kb.Enter, "1 of 5", "e50"}, {kb.Enter, "2 of 5", "e150"}} {
		b.Do(chromedp.KeyEvent(want.key))
		count(want.count)
		b.WaitFor(fmt.Sprintf(clear, "document.getElementById('"+want.line+"')"))
	}
	b.WaitFor(`document.activeElement?.name === "find" && new URLSearchParams(location.search).get("find") === "WALRÚS"`)
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Press("n")
	count("3 of 5")
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => { const s = document.querySelector(".within select"); s.value = "Speaker 4"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`))
	b.WaitFor(`[...document.querySelectorAll(".lines > li:not([hidden])")].every(l => /^e\d+$/.test(l.id) && Math.floor(l.id.slice(1) / 3) % 6 === 4)`)
	b.WaitFor(`document.querySelectorAll(".lines > li:not([hidden])").length === 83`)
	b.WaitFor(`document.querySelectorAll('.lines a.clock[tabindex="0"]').length === 1`)
	if line := browsertest.Evaluate[string](b, `document.querySelector('.lines > li:not([hidden]) a.clock[tabindex="0"]')?.closest("li").id ?? ""`); line != "e264" {
		t.Errorf("the Tab key leads to the line %q", line)
	}
	// The address keeps both, also without scripts.
	body := s.shows(200, "/meetings/1?find=walrus&speaker=Speaker+4", "<mark>walrus</mark>", "selected>Speaker 4", ">clear</a>")
	if n := strings.Count(body, "<li id=\"e"); n != 83 {
		t.Errorf("%d lines of Speaker 4, want 83", n)
	}
	s.shows(200, "/meetings/1?find=xylophone&speaker=Nobody", "Nothing found", "<li id=\"e499\"")
}

// browserFindsWhatIsTyped looks within a meeting for signs that keyboards lack.
func browserFindsWhatIsTyped(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "Signs", "2026-06-10T09:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo"},"text":"We don’t say “yes”.","timestamp":"00:00:01"},
		{"speaker":{"display_name":"Bo"},"text":"The ΟΔΟΣ, a Straße and a ﬁle.","timestamp":"00:00:09"},{"speaker":{"display_name":"Bo"},"text":"A follow‑up at 10\u00a0h, 葛\udb40\udd00城 Kosten\u00advor oʻz.","timestamp":"00:00:19"},
		{"speaker":{"display_name":"Bo"},"text":"Łukasz ate smørrebrød, и\u0306од и иод, की कि.","timestamp":"00:00:29"}]`))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	for typed, found := range map[string]string{"don't": "don’t", `"yes"`: "“yes”", "οδος": "ΟΔΟΣ", "strasse": "Straße", "file": "ﬁle", "follow-up": "follow‑up", "10 h": "10\u00a0h", "葛城": "葛\U000E0100城", "kostenvor": "Kosten\u00advor", "o'z": "oʻz",
		"lukasz": "Łukasz", "smorrebrod": "smørrebrød", "йод": "и\u0306од", "иод": "иод", "कि": "कि", "strase": ""} {
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(box => { box.value = %q; box.dispatchEvent(new Event("input")); })(document.querySelector("input[name=find]"))`, typed)))
		b.WaitFor(fmt.Sprintf(`new URLSearchParams(location.search).get("find") === %q`, typed))
		if got := browsertest.Evaluate[string](b, `document.querySelector(".within .count").textContent + ": " + [...CSS.highlights.get("found")].join()`); found != "" && got != "1 line: "+found || found == "" && got != "Nothing found: " {
			t.Errorf("%s: %s", typed, got)
		}
	}

	// Letters are folded as the search folds them.
	var letters []string
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.L, unicode.M) && r != 'ʻ' && r != 'ʼ' && r != 'ŉ' && !unicode.In(r, unicode.Han, unicode.Hangul) {
			letters = append(letters, string(r))
		}
	}
	letters = append(letters, "и\u0306", "И\u0301\u0306", "к\u0306", "は\u309a", "ｶﾞ", "की", "กำ", "smørrebrød", "Łukasz", "ﷺ")
	raw, err := json.Marshal(letters)
	must(t, err)
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`import(%q).then(({ fold }) => { window.folded = %s.map(fold); })`, s.server.assets.address["within.js"], raw)))
	b.WaitFor(`!!window.folded`)
	for i, got := range browsertest.Evaluate[[]string](b, `folded`) {
		if want := strings.Join(strings.FieldsFunc(text.FoldWord(letters[i]), unicode.IsSpace), " "); strings.TrimSpace(got) != want {
			t.Errorf("%q (%+q) becomes %q, and %q in the search", letters[i], letters[i], got, want)
		}
	}
}

// browserPlaysAClip plays a span, which ends by itself and goes on when asked to.
func browserPlaysAClip(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/" + itoa(s.ids[0]) + "?t=1:00&end=61.5"))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 1 && document.querySelector("#media").currentTime >= 60`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#media").muted = true; document.querySelector("#media").play()`))
	b.WaitFor(`document.querySelector("#media").paused && document.querySelector("#media").currentTime >= 61.5 && document.querySelector("#media").currentTime < 63`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#media").play()`))
	b.WaitFor(`document.querySelector("#media").currentTime > 63`)
}

// browserRemembersTheSpeed changes the playing speed, puts the recording into a window of
// its own where the browser can, and looks at the meeting's tabs on a phone.
func browserRemembersTheSpeed(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 50))
	s.attachVideo(1)
	b := c.Open(t, s.URL)
	b.Do(chromedp.EmulateViewport(390, 844))
	for _, can := range []bool{true, false} {
		script := page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(`
			Object.defineProperty(Document.prototype, "pictureInPictureEnabled", { configurable: true, get: () => %t });
			HTMLVideoElement.prototype.requestPictureInPicture = async function() { window.popped = this.id; };`, can)}
		_, err := chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument, script)
		if err != nil {
			t.Fatal(err)
		}
		b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
		b.WaitFor(fmt.Sprintf(`document.querySelectorAll(".controls button").length >= 4 && !!document.querySelector(".pip") === %t`, can))
		if can {
			b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".pip").click()`))
			b.WaitFor(`window.popped === "media"`)
			b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".controls button")].find(b => b.textContent === "1×").click()`))
		}
		b.WaitFor(`document.querySelector("#media").playbackRate === 1.25 && [...document.querySelectorAll(".controls button")].some(b => b.textContent === "1.25×")`)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`for (const part of ["Notes 12", "CRM", "Everything else"]) { // as many tabs as there can be, and one
		const tab = document.querySelector(".parts a:last-of-type").cloneNode();
		tab.textContent = part;
		document.querySelector(".parts").append(tab);
	}`))
	b.WaitFor(`new Set([...document.querySelectorAll(".parts a:not(.which)")].map(a => a.offsetTop)).size === 1`)
	b.WaitFor(`document.documentElement.scrollWidth <= 390`)
}
