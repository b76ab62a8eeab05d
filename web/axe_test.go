package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
	"minutebook/web/notice"
)

// browserAxeFindsNothing checks every page, of kind meetings and of one that is
// hard on the layout, in both schemes, on a desk and on a phone.
func browserAxeFindsNothing(t *testing.T, c *browsertest.Chromium) {
	axe := browsertest.Axe(t)
	s := newSite(t)
	s.apply(hostileMeeting(2))
	s.attachVideo(s.ids[0])
	var added []string // accounts
	s.server.Setup = &Setup{Accounts: func() []string { return added }, ReceiverURL: "https://minutes.example/in"}
	saved, err := s.server.Notes.Save(t.Context(), 0, "Budget", "budget")
	if err == nil {
		_, err = s.server.Notes.SetNotify(t.Context(), 0, saved.ID, "mailto:me@own.example", time.Time{})
	}
	if err == nil {
		saved, err = s.server.Notes.ByNotify(t.Context(), saved.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	post := &mails{}
	if err := notice.SendMail(t.Context(), post, "me@own.example", []notice.Found{{Saved: saved}}, s.URL, at, time.UTC); err != nil {
		t.Fatal(err)
	}
	unsubscribe := strings.TrimPrefix(post.sent[0].Unsubscribe, s.URL)
	b := c.Open(t, s.URL)
	b.Allow("404", "400") // the pages that say so
	const firstRun = "/setup?first"
	for _, page := range []string{firstRun, "/meetings/2?q=walrus", "/", "/?type=None", "/?q=budget", "/?q=budget+type%3AReview", "/facet?field=person&q=budget", "/trends?q=budget&q=walrus", "/trends?q=budget&by=person", "/saved", "/?q=walrus", "/?q=xylophone+zebra", "/?q=nope:", "/actions", "/actions?state=all", "/people", "/people/aoife.brennan@tidewell.example", personAddress("p0@" + strings.ToLower(strings.Repeat("Donaudampfschiff", 3)[:40]) + ".example"), "/calendar", "/calendar/2026-06", "/now",
		"/status", "/setup", "/help", "/nothing", unsubscribe, "/meetings/" + itoa(s.ids[0]) + "?t=60&q=budget", "/meetings/" + itoa(s.ids[1])} {
		if added = []string{"main"}; page == firstRun {
			added = nil
		}
		for i, scheme := range []string{"light", "dark"} {
			width := []int64{1280, 360}[i] // colours do not depend on the width, nor labels on the scheme
			b.Prefer(scheme)
			b.Do(chromedp.EmulateViewport(width, 850))
			if i == 0 {
				b.Do(chromedp.Navigate(s.URL + page))
			}
			b.Check(axe, fmt.Sprintf("%s, %s, %d wide", page, scheme, width))
			checkLayout(t, b, page, width)
		}
	}
}

// checkLayout fails when the open page is wider than the window, when a part of the top of the
// page reaches out of it, or when the names of the pages are cut. A narrow page is looked at as
// a zoom of 400 % shows it too, where nothing but a recording stays above the text.
func checkLayout(t *testing.T, b *browsertest.Browser, page string, width int64) {
	t.Helper()
	if width > 320 && width < 400 {
		b.Do(chromedp.EmulateViewport(320, 256))
		checkLayout(t, b, page, 320)
		if stays := browsertest.Evaluate[string](b, `getComputedStyle(document.querySelector(".top")).position`); stays != "static" {
			t.Errorf("%s: the top of the page stays in a window that is 256 high: %s", page, stays)
		}
		b.Do(chromedp.EmulateViewport(width, 850))
	}
	if cut := browsertest.Evaluate[string](b, `[...document.querySelectorAll(".top nav a")].filter(e => { const r = e.getBoundingClientRect(), nav = e.closest("nav").getBoundingClientRect();
		return r.width && (r.left < nav.left - 1 || r.right > nav.right + 1); }).map(e => e.textContent).join(" and ")`); cut != "" {
		t.Errorf("%s, %d wide: cut names of pages: %s", page, width, cut)
	}
	if under := browsertest.Evaluate[bool](b, `(() => { const button = document.querySelector(".ask .howto")?.getBoundingClientRect(), box = document.querySelector(".ask input");
		return !!button && box.getBoundingClientRect().right - parseFloat(getComputedStyle(box).paddingRight) > button.left + 1; })()`); under {
		t.Errorf("%s, %d wide: the words of the search box reach under its button", page, width)
	}
	if broken := browsertest.Evaluate[string](b, `[...document.querySelectorAll(".prose :is(td, th)")].filter(e => { const r = document.createRange(); r.selectNodeContents(e);
		return /^\w{2,20}$/.test(e.textContent) && r.getClientRects().length > 1; }).map(e => e.textContent).join(" and ")`); broken != "" {
		t.Errorf("%s, %d wide: words of a summary's table are broken: %s", page, width, broken)
	}
	if pageWidth := browsertest.Evaluate[int64](b, `document.documentElement.scrollWidth`); pageWidth > width {
		t.Errorf("%s is %d wide in a window of %d, by %s", page, pageWidth, width, browsertest.Evaluate[string](b,
			`[...document.querySelectorAll("body *")].findLast(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)?.outerHTML.slice(0, 200) ?? ""`))
	}
	if out := browsertest.Evaluate[string](b, `(() => { const top = document.querySelector(".top").getBoundingClientRect();
		return [...document.querySelectorAll(".top > *")].filter(e => { const r = e.getBoundingClientRect(); return r.top < top.top || r.bottom > top.bottom; })
			.map(e => e.outerHTML.slice(0, 60)).join(" and "); })()`); out != "" {
		t.Errorf("%s, %d wide: the top of the page has no room for %s", page, width, out)
	}
}
