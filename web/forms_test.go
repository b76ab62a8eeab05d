package web

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
	"minutebook/web/accounts"
)

// browserSendsFormsWithoutScripts keeps notes, ticks, searches and merges, in a browser that runs no scripts.
func browserSendsFormsWithoutScripts(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, spoken(1, "2026-06-01T10:00:00Z", "Bo Lee", "bo@acme.example"), spoken(2, "2026-06-02T10:00:00Z", "Bo Lee", "lee@acme.example"))
	b := c.Open(t, s.URL)
	b.Allow("422")
	_, err := chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	if err != nil {
		t.Fatal(err)
	}
	click := func(selector string) { b.Do(chromedp.Click(chromedp.CSS(selector))) }
	write := func(selector, text string) { b.Do(chromedp.SendKeys(chromedp.CSS(selector), text)) }
	shows := func(text string) { b.WaitFor(fmt.Sprintf(`document.body.innerText.includes(%q)`, text)) }

	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	click(".addnote summary")
	write(".addnote textarea", "Ask Bo again.")
	write(".addnote input[name=at]", "soon")
	click(".addnote button")
	shows("Your note was not kept")
	b.Do(chromedp.SetValue(chromedp.CSS("form.note input[name=at]"), "0:01"))
	click("form.note button")
	b.WaitFor(`location.pathname === "/meetings/1" && document.querySelector(".notes .text p")?.textContent === "Ask Bo again."`)
	click(".notes details summary")
	click(".notes button[value=delete]")
	b.WaitFor(`location.hash === "#notes" && !document.querySelector(".notes .text")`)

	click(".actions button")
	b.WaitFor(`!!document.querySelector(".actions li.done")`)

	b.Do(chromedp.Navigate(s.URL + "/?q=send"))
	click(".save summary")
	click(".save button")
	b.WaitFor(`location.pathname === "/saved" && document.querySelector(".saved h2").textContent === "send"`)

	b.Do(chromedp.Navigate(s.URL + "/people"))
	click(".suggested summary")
	click(".suggested button")
	b.WaitFor(`location.pathname === "/people" && !document.querySelector(".suggested")`)

	var names []string
	s.server.Setup = &Setup{Accounts: func() []string { return names }, Add: func(context.Context, string, accounts.Trial) error { return errors.New("unreachable") }}
	b.Do(chromedp.Navigate(s.URL + "/setup"))
	write("input[name=address]", "http://127.0.0.1:1/external/v1")
	write("input[name=key]", "a-key")
	b.Allow("502")
	click(".steps button")
	b.WaitFor(`location.pathname === "/setup/account" && !!document.querySelector(".steps [role=alert]")`)
	b.WaitFor(`document.querySelector("input[name=address]").value === "http://127.0.0.1:1/external/v1" && document.querySelector("input[name=key]").value === ""`)
}
