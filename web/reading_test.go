package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
)

// fromMiddle is the distance, in px, of an element's middle from the middle of the visible part
// of the transcript.
const fromMiddle = `(e => { const r = e.getBoundingClientRect(); return (r.top + r.bottom) / 2 - (parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) + innerHeight) / 2; })`

// fromTop is the distance, in px, of an element's top from where a link to it puts that.
const fromTop = `(e => e.getBoundingClientRect().top - parseFloat(getComputedStyle(e).scrollMarginTop) - parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop))`

// middle and topmost report whether the page has come to rest with a line less than 40 px
// from there.
const (
	middle  = `((line) => { const rest = window.y_ === scrollY; window.y_ = scrollY; return rest && !!line && Math.abs(` + fromMiddle + `(line)) < 40; })(%s)`
	topmost = `((line) => { const rest = window.y_ === scrollY; window.y_ = scrollY; return rest && !!line && Math.abs(` + fromTop + `(line)) < 40; })(%s)`
)

// clear reports whether a line is whole in the window, and the topmost thing there.
const clear = `((line) => {
	const r = line?.getBoundingClientRect(), rest = window.y_ === scrollY; window.y_ = scrollY;
	return rest && !!r && r.top >= 0 && r.bottom <= innerHeight && [r.top + 2, r.bottom - 2].every(y =>
		line.contains(document.elementFromPoint(r.left + r.width / 2, y)));
})(%s)`

const (
	now     = `document.querySelector(".lines .now")`
	focused = `document.activeElement.closest(".lines > li")`
	playing = `!document.querySelector("#media").paused`
)

// browserReadsAlong walks through a transcript of 5,000 entries on a desk and
// on a phone.
func browserReadsAlong(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 5000))
	s.attachVideo(1)
	b := c.Open(t, s.URL)
	for _, window := range [][2]int64{{1280, 850}, {390, 844}} {
		t.Run(fmt.Sprintf("%dx%d", window[0], window[1]), func(t *testing.T) {
			b := b.For(t)
			b.Do(chromedp.EmulateViewport(window[0], window[1]))
			b.Do(chromedp.Navigate(s.URL + "/meetings/1?t=23:20&q=walrus"))
			b.WaitFor(`document.querySelector("#media")?.readyState >= 1 && document.querySelector("#media").currentTime === 1400`)
			b.WaitFor(fmt.Sprintf(middle, `document.querySelector("#e2000.now")`))
			spacePlays(b)
			for _, c := range []struct{ key, at string }{{"n", "2050"}, {"n", "2150"}, {"p", "2050"}, {"p", "1950"}} {
				b.Press(c.key)
				b.WaitFor(focused + fmt.Sprintf(`?.id === "e%s"`, c.at))
				b.WaitFor(fmt.Sprintf(middle, focused))
			}
			spacePlays(b)
			b.Do(chromedp.Navigate(s.URL + "/meetings/1?q=walrus"))
			b.WaitFor(`document.fonts.status === "loaded"`)
			const height = `document.querySelector("ol.lines").offsetHeight`
			atTop := browsertest.Evaluate[float64](b, height)
			b.Press("p") // wraps to the last one
			b.WaitFor(focused + `?.id === "e4950"`)
			b.WaitFor(fmt.Sprintf(middle, focused))
			if atEnd := browsertest.Evaluate[float64](b, height); atEnd != atTop {
				t.Errorf("the transcript is %.0f px high at its beginning and %.0f at its end: lines move under who scrolls", atTop, atEnd)
			}
			b.Press("j")
			b.WaitFor(fmt.Sprintf(middle, focused))
			clicksMoveTheTranscript(b)
			scrollsEndGlides(t, b)
			b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "e3000"`))
			b.WaitFor(fmt.Sprintf(topmost, `document.getElementById("e3000")`))
			b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".within button[title*=Next]").click()`))
			b.WaitFor(fmt.Sprintf(middle, `document.querySelector(".lines > .found")`))
			b.Do(chromedp.Navigate(s.URL + "/meetings/1?q=walrus&t=2135#e3050")) // as results link to a hit
			b.WaitFor(fmt.Sprintf(topmost, `document.querySelector("#e3050.now")`))
			b.WaitFor(fmt.Sprintf(clear, `document.querySelector("#e3050")`)) // the player hides none of it
		})
	}
	t.Run("one stop of Tab", func(t *testing.T) {
		if n := browsertest.Evaluate[int](b.For(t), `[...document.querySelectorAll("main a, main button")].filter(e => e.tabIndex >= 0).length`); n > 60 {
			t.Errorf("%d stops of the Tab key", n)
		}
	})
}

// spacePlays presses the space bar twice where the focus is on a link.
func spacePlays(b *browsertest.Browser) {
	b.WaitFor(`document.activeElement.tagName === "A" && document.querySelector("#media").paused`)
	b.Press(" ")
	b.WaitFor(playing)
	b.Press(" ")
	b.WaitFor("!(" + playing + ")")
	b.WaitFor(fmt.Sprintf(clear, focused))
}

// clicksMoveTheTranscript clicks from the top of the page: each time the line of the
// moment comes to the middle.
func clicksMoveTheTranscript(b *browsertest.Browser) {
	for _, c := range []struct {
		click    string
		from, to int
	}{
		{`(() => { const r = document.querySelector(".timeline").getBoundingClientRect(); document.querySelector(".timeline").dispatchEvent(new MouseEvent("click",
			{ bubbles: true, clientX: r.left + r.width * 0.75, clientY: r.top + 5 })); })()`, 2690, 2720},
		{`document.querySelector(".actions a.clock").click()`, 3000, 3010},
		{`document.querySelector(".highlights a.clock").click()`, 3100, 3110},
		{`document.querySelector(".chapters a[data-t='3290']").click()`, 3290, 3300},
		{`document.querySelector(".prose a[href^='?t=']").click()`, 2101, 2111},
		{`document.querySelector(".timeline a:has(.todo)").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`, 3000, 3010},
	} {
		b.Do(chromedp.Evaluate[chromedp.Void](`window.stays = true, scrollTo({ top: 0, behavior: "instant" })`), chromedp.Evaluate[chromedp.Void](c.click))
		b.WaitFor(`window.stays && ` + playing) // no page was loaded
		b.WaitFor(fmt.Sprintf(`Number(%s?.dataset.t) >= %d && Number(%s.dataset.t) < %d`, now, c.from, now, c.to))
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#media").pause()`))
		b.WaitFor(fmt.Sprintf(middle, now))
	}
}

// glides acts five times while the page glides ten lines on, and returns the distances, in px,
// between where the page then rests and where it should.
const glides = `(async (act, off) => {
	const wrong = [], pause = ms => new Promise(done => setTimeout(done, ms));
	for (let i = 0; i < 5; i++) {
		const line = document.activeElement.closest(".lines > li") ?? document.querySelector(".lines > .found");
		line.scrollIntoView({ block: "center", behavior: "instant" });
		await pause(200);
		document.querySelector("#e" + (Number(line.id.slice(1)) + 10)).scrollIntoView({ block: "center", behavior: "smooth" });
		await pause(50 + 25 * i);
		act();
		for (let y; await pause(300), y !== scrollY;) y = scrollY;
		if (Math.abs(off()) > 4) wrong.push(Math.round(off()));
	}
	return wrong.join();
})(%s, () => %s)`

// scrollsEndGlides scrolls at once while the page glides, as when the recording comes to a line
// and its reader presses a key: the rest of the glide is not added.
func scrollsEndGlides(t *testing.T, b *browsertest.Browser) {
	for _, c := range []struct{ act, off string }{
		{`() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true }))`, fromMiddle + `(` + focused + `)`},
		{`() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }))`, fromMiddle + `(` + focused + `)`},
		{`() => document.querySelector("a[href='#action_items']").click()`, fromTop + `(document.querySelector("#action_items"))`},
	} {
		if wrong := browsertest.Evaluate[string](b, fmt.Sprintf(glides, c.act, c.off)); wrong != "" {
			t.Errorf("after %s the page rests %s px elsewhere", c.act, wrong)
		}
	}
}

// browserLeavesRoomForTheText holds the recording to its part of a small window.
func browserLeavesRoomForTheText(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	address := s.URL + "/meetings/" + itoa(s.ids[0]) + "?t=900"
	b := c.Open(t, s.URL)
	const deck = `document.querySelector(".deck").getBoundingClientRect()`
	for _, window := range [][2]int64{{390, 844}, {360, 640}, {768, 1024}, {844, 390}, {667, 375}} {
		b.Do(chromedp.EmulateViewport(window[0], window[1]), chromedp.Navigate(address))
		b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
		b.WaitFor(fmt.Sprintf(clear, `document.querySelector(".lines .here, .lines .now")`))
		if window[0] > window[1] {
			if browsertest.Evaluate[bool](b, deck+`.left < document.querySelector(".reading").getBoundingClientRect().right`) {
				t.Errorf("%v: the recording is not beside the text", window)
			}
			continue
		}
		if deckHeight := browsertest.Evaluate[float64](b, deck+`.bottom / innerHeight`); deckHeight > 0.3 {
			t.Errorf("%v: %.0f %% of the height are covered", window, 100*deckHeight)
		}
		if cut := browsertest.Evaluate[float64](b, `document.querySelector(".timeline").getBoundingClientRect().bottom - `+deck+`.bottom`); cut > 0 {
			t.Errorf("%v: %.0f px of the timeline are cut off", window, cut)
		}
		b.Do(chromedp.Click(chromedp.CSS(".controls .folder")))
		if deckHeight := browsertest.Evaluate[float64](b, deck+`.height`); deckHeight > 100 {
			t.Errorf("%v: folded, it still takes %.0f px", window, deckHeight)
		}
		b.Do(chromedp.Click(chromedp.CSS(".controls .play")))
		b.WaitFor(playing)
	}
}

func browserGoesBackToItsPlace(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	for i := range int64(60) {
		s.store(meeting(9000+i, fmt.Sprintf("Walrus %d", i), "2026-05-01T09:00:00Z", ""))
	}
	s.catchUp()
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL+"/?q=walrus"), chromedp.Click(chromedp.CSS(".pager [rel=next]")))
	b.WaitFor(`new URLSearchParams(location.search).has("after")`)
	place := browsertest.Evaluate[string](b, `(() => { document.querySelectorAll(".hit h2 a")[12].scrollIntoView({block: "center"}); return location.href + " " + Math.round(scrollY) })()`)
	b.Do(chromedp.Click(chromedp.CSS(".hit:nth-child(13) h2 a")))
	b.WaitFor(`location.pathname.startsWith("/meetings/")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "transcript"`))
	b.Do(chromedp.Click(chromedp.CSS("[data-back]")))
	b.WaitFor(fmt.Sprintf(`location.pathname === "/" && Math.abs(scrollY - %s) < 40`, place[strings.LastIndex(place, " ")+1:]))
	if got := browsertest.Evaluate[string](b, `location.href`); got != place[:len(got)] {
		t.Errorf("back is %s, not %s", got, place)
	}
	// Whoever came from elsewhere is led to the results by the link itself.
	b.Do(chromedp.Navigate(s.URL+"/meetings/9001?q=other"), chromedp.Click(chromedp.CSS("[data-back]")))
	b.WaitFor(`location.pathname === "/" && new URLSearchParams(location.search).get("q") === "other"`)
}
