package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
)

// holdForms is a script that lets each form that a script sends wait for release(), and fail at the
// network for release(true).
const holdForms = `{
	const ask = window.fetch, waits = [];
	window.held = 0;
	window.release = fails => waits.shift()(fails);
	window.fetch = async (address, more) => {
		if (more?.method === "POST" && (held++, await new Promise(resolve => waits.push(resolve)))) throw new TypeError("away");
		return ask(address, more);
	}; }`

// browserBearsLateAnswers goes on while forms are on their way. What their answers change stays
// where it is for the reader, and the focus is theirs.
func browserBearsLateAnswers(t *testing.T, c *browsertest.Chromium) {
	var items []string
	for _, name := range []string{"One", "Two", "Three", "Four", "Five"} {
		items = append(items, `{"description":"`+name+`"}`)
	}
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"action_items":[`+strings.Join(items, ",")+`]`))
	b := c.Open(t, s.URL)
	b.Allow("404")
	do := func(script string) { b.Do(chromedp.Evaluate[chromedp.Void](script)) }
	at := func(why, want string) {
		t.Helper()
		if got := browsertest.Evaluate[string](b, `(a => a.ariaLabel ?? a.id + a.localName + (a.value ?? ""))(document.activeElement)`); got != want {
			t.Errorf("%s: the focus is at %q, want %q", why, got, want)
		}
	}
	const names = `[...document.querySelectorAll(".tick button")].map(b => b.ariaLabel.slice(6)).join()`
	b.Do(chromedp.Navigate(s.URL + "/actions"))
	do(holdForms + `; window.tick = name => { const box = [...document.querySelectorAll(".tick button")].find(b => b.ariaLabel === "Done: " + name); box.focus(); box.click(); }; tick("One"), tick("Three")`)
	b.WaitFor(`held === 2`)
	do(`release()`)
	b.WaitFor(names + ` === "Two,Three,Four,Five"`)
	at("the reader stands at the third item", "Done: Three")
	do(`release(true)`)
	b.WaitFor(`document.querySelector("main li .unanswered")?.closest("li").textContent.includes("Three")`)
	at("the third item is not answered", "Done: Three")

	do(`tick("Three"), (box => { box.focus(); box.value = "wal"; })(document.querySelector(".sift [name=q]"))`)
	b.WaitFor(`held === 3`)
	do(`release()`)
	b.WaitFor(names + ` === "Two,Four,Five"`)
	at("the reader types", "inputwal")
	do(`tick("Two"), tick("Four"), (box => { box.form.elements.text.value = "of no meeting"; box.click(); })([...document.querySelectorAll(".tick button")].at(-1))`)
	b.WaitFor(`held === 6`)
	do(`release()`)
	b.WaitFor(names + ` === "Four,Five"`)
	do(`release()`)
	b.WaitFor(names + ` === "Five"`)
	at("the form whose item is gone", "Done: Five")
	do(`release()`)
	b.WaitFor(`location.pathname === "/actions/tick" && document.querySelector("main").textContent.includes("no such action item")`)

	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	do(holdForms + `; document.querySelector(".addnote summary").click(), document.querySelector(".addnote textarea").value = "First.", document.querySelector(".addnote button").click()`)
	b.WaitFor(`held === 1`)
	do(`release()`)
	b.WaitFor(`!!document.querySelector("#note1")`)
	at("who waits for a note", "summary")
	do(`document.querySelector(".addnote summary").click(), document.querySelector(".addnote textarea").value = "Second.", document.querySelector(".addnote button").click()`)
	b.WaitFor(`held === 2`)
	b.Do(chromedp.Click(chromedp.CSS("#note1 summary")), chromedp.Click(chromedp.CSS("#note1 textarea")))
	do(`release()`)
	b.WaitFor(`!!document.querySelector("#note2")`)
	b.Do(chromedp.KeyEvent(" ?"))
	at("the reader writes in another note", "The note")
	b.WaitFor(`document.querySelector("#note1 textarea").value.includes(" ?") && location.pathname === "/meetings/1"`)
}
