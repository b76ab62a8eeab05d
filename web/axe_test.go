package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
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
		_, err = s.server.Notes.SetNotify(t.Context(), 0, saved.ID, "mailto:me@own.example")
	}
	if err != nil {
		t.Fatal(err)
	}
	b := c.Open(t, s.URL)
	b.Allow("404", "400") // the pages that say so
	const firstRun = "/setup?first"
	for _, page := range []string{firstRun, "/meetings/2?q=walrus", "/", "/?type=None", "/?q=budget", "/?q=budget+type%3AReview", "/facet?field=person&q=budget", "/trends?q=budget&q=walrus", "/trends?q=budget&by=person", "/saved", "/?q=walrus", "/?q=xylophone+zebra", "/?q=nope:", "/actions", "/actions?state=all", "/people", "/people/aoife.brennan@tidewell.example", personAddress("p0@" + strings.ToLower(strings.Repeat("Donaudampfschiff", 3)[:40]) + ".example"), "/calendar", "/calendar/2026-06", "/now",
		"/status", "/setup", "/help", "/nothing", "/meetings/" + itoa(s.ids[0]) + "?t=60&q=budget", "/meetings/" + itoa(s.ids[1])} {
		if added = []string{"main"}; page == firstRun {
			added = nil
		}
		for i, scheme := range []string{"light", "dark"} {
			width := []int64{1280, 390}[i] // colours do not depend on the width, nor labels on the scheme
			b.Prefer(scheme)
			b.Do(chromedp.EmulateViewport(width, 850))
			if i == 0 {
				b.Do(chromedp.Navigate(s.URL + page))
			}
			b.Check(axe, fmt.Sprintf("%s, %s, %d wide", page, scheme, width))
			if pageWidth := browsertest.Evaluate[int64](b, `document.documentElement.scrollWidth`); pageWidth > width {
				t.Errorf("%s is %d wide in a window of %d, by %s", page, pageWidth, width, browsertest.Evaluate[string](b,
					`[...document.querySelectorAll("body *")].findLast(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)?.outerHTML.slice(0, 200) ?? ""`))
			}
		}
	}
}
