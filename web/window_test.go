package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/browsertest"
	syncer "minutebook/sync"
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

// browserGoesBackToItsChoice orders results and goes back: the choices are those of the address.
func browserGoesBackToItsChoice(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/?q=budget"))
	b.Do(chromedp.Evaluate[chromedp.Void](`(s => { s.value = "date"; s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector("select[name=sort]"))`))
	b.WaitFor(`location.search.includes("sort%3Adate")`)
	b.Do(chromedp.NavigateBack())
	b.WaitFor(`location.search === "?q=budget"`)
	if got := browsertest.Evaluate[string](b, `document.querySelector("select[name=sort]").value`); got != "" {
		t.Errorf("the order is said to be by %q", got)
	}
}

// browserWaitsForWholeDates writes a date and walks through a list by keys, of which each changes
// the value: nothing is shown before it is asked for. What is chosen in a list with the mouse is.
func browserWaitsForWholeDates(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/?q=budget"))
	b.Do(chromedp.Evaluate[chromedp.Void](`window.changes = 0, document.querySelector(".refine").addEventListener("change", () => changes++), document.querySelector("[name=from]").focus()`))
	b.Do(chromedp.KeyEvent("03052026"))
	b.WaitFor(`changes > 1 && document.querySelector("[name=from]").value === "2026-03-05" && document.querySelector(".refine button").checkVisibility()`)
	b.Do(chromedp.Evaluate[chromedp.Void](`window.changes = 0, document.querySelector("[name=sort]").focus()`))
	for _, key := range []string{kb.ArrowDown, kb.ArrowUp, kb.ArrowDown} {
		b.Press(key)
	}
	b.WaitFor(`changes === 3 && document.querySelector("[name=sort]").value === "date" && location.search === "?q=budget"`)
	b.Do(chromedp.Click(chromedp.CSS(".refine button")))
	b.WaitFor(`location.search.includes("after%3A2026-03-05") && location.search.includes("sort%3A")`)
	b.Do(chromedp.Focus(chromedp.CSS("[name=to]")), chromedp.KeyEvent("04062026"+kb.Enter))
	b.WaitFor(`location.search.includes("before%3A2026-04-0")`)
	b.Do(chromedp.Navigate(s.URL + "/"))
	b.Do(chromedp.Focus(chromedp.CSS("select[name=type]")))
	b.Press(kb.ArrowDown)
	b.WaitFor(`document.querySelector("select[name=type]").selectedIndex === 1`)
	b.Do(chromedp.Evaluate[chromedp.Void](`(s => { s.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector("select[name=type]"))`))
	b.WaitFor(`/^\?type=[^&]+$/.test(location.search)`)
}

// browserNotesInPlace writes, changes and deletes notes while a recording plays.
func browserNotesInPlace(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids[0])
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/" + itoa(s.ids[0]) + "?t=60"))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 2`)
	b.Do(chromedp.Evaluate[chromedp.Void](`window.player = document.querySelector("#media"), player.muted = true, player.play(),
		window.write = (form, text) => { form.closest("details").open = true; form.elements.text.value = text; return form; },
		window.plays = () => document.querySelector("#media") === player && !player.paused && player.currentTime >= 60,
		window.texts = () => [...document.querySelectorAll(".notes .text > p")].map(p => p.textContent).join(),
		write(document.querySelector(".addnote form"), "First."), [1, 2].forEach(() => document.querySelector(".addnote form button").click())`))
	b.WaitFor(`texts() === "First." && plays() && document.activeElement.closest("li")?.id === "note1" && document.querySelector("nav.parts a[href='#notes']").textContent.includes("1")`)
	// What is being written elsewhere stays.
	b.Do(chromedp.Evaluate[chromedp.Void](`write(document.querySelector(".addnote form"), "Half a"), write(document.querySelector("#note1 form"), "Changed."), document.querySelector("#note1 button[value=change]").click()`))
	b.WaitFor(`texts() === "Changed." && plays() && document.querySelector(".addnote").open && document.querySelector(".addnote textarea").value === "Half a"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#note1 button[value=delete]").click()`))
	b.WaitFor(`texts() === "" && plays() && document.querySelector(".addnote textarea").value === "Half a" && !!document.activeElement.closest(".addnote")`)
}

// browserKeepsWhatIsWritten leaves a page on which a note is being written, and sends it while
// the archive is away.
func browserKeepsWhatIsWritten(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 5))
	b := c.Open(t, s.URL)
	b.Allow("404")
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.Do(chromedp.Evaluate[chromedp.Void](`window.isHeld = () => !dispatchEvent(new Event("beforeunload", { cancelable: true })),
		window.form = document.querySelector(".addnote form"), window.ask = fetch, window.away = true, window.unwritten = isHeld(),
		window.fetch = async (address, more) => !more?.method || !away ? ask(address, more) : new Response("<main>Bad gateway</main>", { status: 502 }),
		document.querySelector(".addnote").open = true, form.elements.text.value = "Feed it."`))
	if browsertest.Evaluate[bool](b, `unwritten || !isHeld()`) {
		t.Error("a page is held before something is written on it, or is not afterwards")
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`form.querySelector("button").click()`))
	b.WaitFor(`document.querySelectorAll(".unanswered").length === 1 && form.elements.text.value === "Feed it." && isHeld()`)
	b.Do(chromedp.Evaluate[chromedp.Void](`away = false, form.querySelector("button").click()`))
	b.WaitFor(`document.querySelector(".notes .text > p")?.textContent === "Feed it." && !document.querySelector(".unanswered") && !isHeld()`)
	// A refusal is shown, and leaves the page.
	b.Do(chromedp.Evaluate[chromedp.Void](`form = document.querySelector("#note1 form"), form.closest("details").open = true, form.elements.note.value = 99, form.elements.text.value = "Gone.", form.querySelector("button").click()`))
	b.WaitFor(`document.querySelector("main h1").textContent === "Your note was not kept" && document.querySelector("textarea").value === "Gone."`)
}

// browserStaysWithTheReader writes, reads elsewhere and scrolls while a recording plays: the page
// does not follow it any more. What is done to the recording or its transcript ends no following.
func browserStaysWithTheReader(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, json.RawMessage(strings.Replace(string(longMeeting(1, 100)), "They [counted]", `| A | B |\n| - | - |\n| 1 | 2 |\n\nThey [counted]`, 1)))
	s.attachVideo(1)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1?t=60"))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 2`)
	b.Do(chromedp.Evaluate[chromedp.Void](`window.player = document.querySelector("#media"), player.muted = true, player.play(),
		window.toggle = document.querySelector(".controls [aria-pressed]"), window.isLeft = () => toggle.ariaPressed === "false" && !document.querySelector(".resume").hidden`))
	b.WaitFor(`!player.paused`)
	for _, reader := range []struct {
		does  string
		steps func()
		stays bool
	}{
		{"looks within", func() { b.Press("/") }, false},
		{"goes back five seconds", func() { b.Press(kb.Escape); b.Press(kb.ArrowLeft) }, false},
		{"pauses and plays", func() { b.Press(" "); b.Press(" "); b.WaitFor("!player.paused") }, false},
		{"opens a note", func() { b.Do(chromedp.Click(chromedp.CSS(".addnote summary"))) }, true},
		{"writes a note", func() { b.Do(chromedp.Focus(chromedp.CSS(".addnote textarea"))) }, true},
		{"goes to a part", func() { b.Do(chromedp.Click(chromedp.CSS("nav.parts a[href='#highlights']"))) }, true},
		{"turns a page", func() { b.Press(kb.PageDown) }, true},
		{"turns a page back", func() { b.Do(chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierShift))) }, true},
		{"goes to the end", func() { b.Press(kb.End) }, true},
		{"writes a note on words", func() {
			b.Do(chromedp.Evaluate[chromedp.Void](`(p => getSelection().setBaseAndExtent(p.firstChild, 3, p.firstChild, 9))(document.querySelector("#e40 p"))`))
			b.WaitFor(`!document.querySelector(".quotebar").hidden`)
			b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".quotebar button")].find(b => b.textContent === "Note").click()`))
		}, true},
	} {
		b.Do(chromedp.Evaluate[chromedp.Void](`toggle.ariaPressed === "true" || toggle.click(), document.activeElement.blur()`))
		reader.steps()
		if got := browsertest.Evaluate[bool](b, `isLeft()`); got != reader.stays {
			t.Errorf("the reader %s: the page stays there: %v", reader.does, got)
		}
	}
	takePicture(t, b, "stays")
	browsertest.Evaluate[bool](b, `new Promise(done => requestAnimationFrame(() => done(true)))`) // the note is scrolled to once more in the next frame
	b.Do(chromedp.Evaluate[chromedp.Void](`window.pulled = 0, Element.prototype.scrollIntoView = () => { pulled++; }, player.currentTime = 3000`))
	b.WaitFor(`Number(document.querySelector(".lines .now").dataset.t) > 2900 && pulled === 0`)
	// A table that is wider than the page is moved in by its keys.
	b.Do(chromedp.Evaluate[chromedp.Void](`player.pause(), document.querySelector(".prose table").focus(), window.second = player.currentTime`))
	b.Press(kb.ArrowLeft)
	if !browsertest.Evaluate[bool](b, `player.currentTime === second`) {
		t.Error("the keys of a table move the recording")
	}
}

// browserStatusWhileIndexing sees the status move while the index is behind, with the banner that
// comes above it and the one that was there.
func browserStatusWhileIndexing(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "One", "2026-06-10T09:00:00Z", ""))
	tell := func(name string, used int) {
		s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", Suspended: name, Budget: []api.Usage{{Class: api.ClassHeavy, Limit: 30, Used: used}}}}}
	}
	b := c.Open(t, s.URL)
	for _, name := range []string{"a walrus refuses", "a gnu refuses"} {
		tell("", 0)
		b.Do(chromedp.Navigate(s.URL + "/status"))
		b.WaitFor(`document.querySelector(".budget meter")?.value === 0`)
		tell("", 17)
		b.WaitFor(`document.querySelector(".budget meter").value === 17`) // an event has come
		s.index.Rebuild()
		tell(name, 18)
		b.WaitFor(`document.querySelector(".account")?.textContent.includes("` + name + `") && !!document.querySelector(".tiles")`)
	}
	if !browsertest.Evaluate[bool](b, `!!document.querySelector(".banner")`) {
		t.Error("there is no banner")
	}
}

// browserShowsWhatWaits has rules wait and work pause while pages are open. The banner shows no
// rules; an open status page does. A part in which the reader is stays, and is new when they leave.
func browserShowsWhatWaits(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "One", "2026-06-10T09:00:00Z", ""))
	tell := func(suspended string, problems []string, hold *archive.RetentionHold) {
		s.status = &daemonState{Status: syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", Suspended: suspended}}, Problems: problems}, Retention: hold}
	}
	hold := &archive.RetentionHold{Rules: 1, Waiting: true, From: at, Meetings: 1, Recordings: 1}
	tell("", nil, hold)
	b := c.Open(t, s.URL)
	s.index.Rebuild()
	b.Do(chromedp.Navigate(s.URL + "/people"))
	b.WaitFor(`!!document.querySelector(".banner progress") && performance.getEntriesByType("resource").some(({ name }) => name.includes("/status"))`)
	if s.shown.Load() {
		t.Error("the banner shows new rules to nobody")
	}
	s.catchUp()
	b.WaitFor(`!document.querySelector(".banner")`)

	tell("", nil, nil)
	b.Do(chromedp.Navigate(s.URL + "/status"))
	b.Do(chromedp.Evaluate[chromedp.Void](`window.says = text => document.querySelector("main").textContent.includes(text), (account => { account.tabIndex = -1; account.focus(); })(document.querySelector(".account"))`))
	for i := 0; i < 40 && !browsertest.Evaluate[bool](b, `says("New rules wait") && says("the disk is full")`); i++ { // the first event is compared with nothing
		tell("a walrus refuses"+strings.Repeat("!", i), []string{"the disk is full"}, hold)
		time.Sleep(500 * time.Millisecond)
	}
	b.WaitFor(`says("New rules wait") && says("the disk is full") && !says("a walrus refuses") && document.activeElement.matches(".account")`)
	takePicture(t, b, "waits")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.WaitFor(`says("a walrus refuses")`)
	tell("a gnu refuses", nil, nil)
	b.WaitFor(`says("a gnu refuses") && !says("New rules wait") && !says("the disk is full")`)
}
