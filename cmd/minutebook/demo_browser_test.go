package main

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/internal/browsertest"
)

// lineShown reports whether the line of the moment is within the window.
const lineShown = `(() => { const r = document.querySelector(".lines .here, .lines .now")?.getBoundingClientRect();
	return !!r && r.top >= 0 && r.bottom <= innerHeight; })()`

// followInBrowser searches in the demo as a reader does: from the box to the
// moment, to the recording at that second, and from the transcript back into the
// recording.
func followInBrowser(t *testing.T, home string) {
	b := browsertest.Start(t).Open(t, home)
	b.Do(chromedp.Navigate(home+"/"), chromedp.SendKeys(chromedp.CSS(`input[name=q]`), "has:video the"+kb.Enter))
	b.WaitFor(`!!document.querySelector('.moments a[href*="?t="]')`)
	address, err := url.Parse(browsertest.Evaluate[string](b, `document.querySelector('.moments a[href*="?t="]').href`))
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Click(chromedp.CSS(`.moments a[href*="?t="]`)))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
	b.WaitFor(fmt.Sprintf(`Math.abs(document.querySelector("#media").currentTime - %s) < 1`, address.Query().Get("t")))
	b.WaitFor(lineShown)

	line := browsertest.Evaluate[string](b, `(() => { const l = document.querySelectorAll(".lines > li")[30]; l.scrollIntoView({block: "center"}); return l.dataset.t })()`)
	b.Do(chromedp.Click(chromedp.CSS(".lines > li:nth-child(31) p")))
	b.WaitFor(fmt.Sprintf(`(() => { const t = document.querySelector("#media").currentTime - %s; return t >= -0.2 && t < 20 })()`, line))
	b.WaitFor(`!document.querySelector("#media").paused`)

	// The same without scripts, but for the following.
	_, err = chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(address.String()), chromedp.WaitReady(chromedp.CSS(".lines .here")))
	b.WaitFor(lineShown)
	b.WaitFor(fmt.Sprintf(`Math.abs(document.querySelector("#media").currentTime - %s) < 1`, address.Query().Get("t")))
	for _, page := range []string{"/", "/actions", "/status", "/help"} {
		b.Do(chromedp.Navigate(home + page))
	}
}
