package web

import (
	"testing"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
)

// setHidden is a script that hides the page, as a window does that comes before it, or shows it.
const setHidden = `window.turn = hidden => { Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden }); document.dispatchEvent(new Event("visibilitychange")); }`

// browserSharesConnections counts the requests for changes that stay open: a page that is not
// seen has none, since windows share six connections.
func browserSharesConnections(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/"))
	b.Do(chromedp.Evaluate[chromedp.Void](setHidden + `; {
		const ask = window.fetch;
		window.waiting = window.begun = 0;
		window.fetch = (address, more = {}) => !address.includes("/changes") ? ask(address, more) : new Promise((_, fail) => {
			begun++, waiting++;
			more.signal?.addEventListener("abort", () => { waiting--; fail(more.signal.reason); });
		}); }`))
	s.apply(meeting(9000, "One", "2026-06-10T09:00:00Z", ""))
	b.WaitFor(`begun === 1 && waiting === 1`)
	b.Do(chromedp.Evaluate[chromedp.Void](`turn(true)`))
	b.WaitFor(`waiting === 0`)
	b.Do(chromedp.Evaluate[chromedp.Void](`turn(false)`))
	b.WaitFor(`begun === 2 && waiting === 1`)
}

// browserAsksForThePageAgain has a proxy answer in place of the page that has changed.
func browserAsksForThePageAgain(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/"))
	b.Do(chromedp.Evaluate[chromedp.Void](`{
		const ask = window.fetch, later = window.setTimeout;
		window.setTimeout = (f, ms) => later(f, ms / 100);
		window.refused = 0;
		window.fetch = (address, more) => address === location.href && refused++ < 1 ? Promise.resolve(new Response("<h1>Bad gateway</h1>", { status: 502 })) : ask(address, more); }`))
	s.apply(meeting(9000, "The walrus is back", "2026-06-10T09:00:00Z", ""))
	b.WaitFor(`refused === 1 || document.querySelector("main").textContent.includes("The walrus is back")`)
	b.WaitFor(`document.querySelector("main").textContent.includes("The walrus is back")`)
}
