package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"minutebook/archive"
	"minutebook/internal/browsertest"
)

// lapsingProxy stands before a site, as a proxy does that signs people in. The zero one names
// nobody.
type lapsingProxy struct {
	name    atomic.Value                     // of the person who is signed in, an address
	answers atomic.Pointer[http.HandlerFunc] // in place of the site, when set
}

// newLapsingSite returns a site with one meeting that two people see, behind a proxy.
func newLapsingSite(t *testing.T) (*entrySite, *lapsingProxy) {
	s := newEntrySite(t, func(e *Entry) {
		e.Passwords, e.ProxyHeader, e.ProxyNetworks = false, "Remote-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	})
	s.apply(meeting(9000, "Walrus", "2026-06-10T09:00:00Z", ""))
	must(t, s.archive.SetShares(t.Context(), 9000, map[string]archive.ShareLevel{
		archive.UserPrincipal("bob@acme.example"): archive.ShareLimited, archive.UserPrincipal("eve@acme.example"): archive.ShareLimited}))
	s.catchUp()
	p, behind := &lapsingProxy{}, s.Config.Handler
	p.name.Store("bob@acme.example")
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := p.answers.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		if name := p.name.Load().(string); name != "" {
			r.Header.Set("Remote-User", name)
		}
		behind.ServeHTTP(w, r)
	})
	return s, p
}

// written is the note that is being written, as the page shows it.
const written = `document.querySelector(".addnote[open] textarea")?.value`

// browserOutlivesTheProxysSession keeps a note, and waits for changes, after the session at the
// proxy has ended: the words are there again for their author.
func browserOutlivesTheProxysSession(t *testing.T, c *browsertest.Chromium) {
	s, proxy := newLapsingSite(t)
	signIn := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`<!doctype html><title>Who are you?</title><main><h1>Who are you?</h1></main>`))
		}
	}
	elsewhere := httptest.NewServer(signIn(200))
	t.Cleanup(elsewhere.Close)
	b := c.Open(t, s.URL, elsewhere.URL)
	b.Allow("401", "ERR_FAILED", "connect-src")
	refused := signIn(401)
	here := signIn(200)
	leads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	meets := func(name string) {
		proxy.name.Store(name)
		proxy.answers.Store(nil)
		b.Do(chromedp.Navigate(s.URL + "/meetings/9000"))
	}
	write := func(text string) {
		meets("bob@acme.example")
		b.Do(chromedp.Click(chromedp.CSS(".addnote summary")), chromedp.SendKeys(chromedp.CSS(".addnote textarea"), text))
	}
	for way, answer := range map[string]http.HandlerFunc{"refuses": refused, "asks here": here, "leads elsewhere": leads} {
		write(way)
		proxy.answers.Store(&answer)
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".addnote button").click()`))
		b.WaitFor(`document.title === "Who are you?"`)
		meets("bob@acme.example")
		b.WaitFor(written + ` === "` + way + `"`)
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".addnote button").click()`))
		b.WaitFor(`[...document.querySelectorAll(".notes .text > p")].at(-1)?.textContent === "` + way + `"`)
	}

	write("Half a note.")
	proxy.answers.Store(&leads)
	s.apply(meeting(9000, "Walrus", "2026-06-10T10:00:00Z", ""))
	b.WaitFor(`document.title === "Who are you?"`)
	meets("bob@acme.example")
	b.WaitFor(written + ` === "Half a note."`)

	// A form of the page meets the proxy's redirect.
	proxy.answers.Store(&leads)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".addnote textarea").value = "", document.querySelector("input[name=q]").value = "walrus", document.querySelector("form.ask").requestSubmit()`))
	b.WaitFor(`document.title === "Who are you?"`)
	write("Half a note.")

	// Minutebook itself refuses whom the proxy does not name.
	proxy.name.Store("")
	s.apply(meeting(9000, "Walrus", "2026-06-10T11:00:00Z", ""))
	b.WaitFor(`document.querySelector("main h1")?.textContent === "Unauthorized" && document.querySelector(".unkept")?.textContent.includes("put back")`)
	if browsertest.Evaluate[bool](b, `document.documentElement.outerHTML.includes("Half") || [...document.querySelectorAll("textarea")].length > 0`) {
		t.Error("a draft is shown to nobody in particular")
	}
	meets("bob@acme.example")
	b.WaitFor(written + ` === "Half a note."`)
	proxy.name.Store("")
	s.apply(meeting(9000, "Walrus", "2026-06-10T12:00:00Z", ""))
	b.WaitFor(`!!document.querySelector(".unkept")`)
	meets("eve@acme.example")
	if browsertest.Evaluate[bool](b, `[...document.querySelectorAll("textarea")].some(t => t.value) || !!sessionStorage.getItem("drafts")`) {
		t.Error("another person has the draft")
	}
}

// browserAsksBeforeItsNoteIsLeft has a note refused whose words only the answer has. It is kept
// once when it is sent again.
func browserAsksBeforeItsNoteIsLeft(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 5))
	b := c.Open(t, s.URL)
	b.Allow("422")
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.Do(chromedp.Evaluate[chromedp.Void](`(form => { form.closest("details").open = true; form.elements.text.value = "Feed it."; form.elements.at.value = "soon"; form.querySelector("button").click(); })(document.querySelector(".addnote form"))`))
	b.WaitFor(`document.querySelector("main h1")?.textContent === "Your note was not kept"`)
	if !browsertest.Evaluate[bool](b, `window.isHeld = () => !dispatchEvent(new Event("beforeunload", { cancelable: true })), isHeld()`) {
		t.Error("the words are left by mistake")
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("form.note [name=at]").value = "0:01", document.querySelector("form.note button").click()`))
	b.WaitFor(`location.pathname === "/meetings/1" && document.querySelectorAll(".notes .text > p").length === 1`)
	if browsertest.Evaluate[bool](b, `!!document.querySelector(".addnote[open]") || !!sessionStorage.getItem("drafts")`) {
		t.Error("a note that is kept is a draft too")
	}

	// The answer to the script's request was lost, and the form is sent again.
	b.Do(chromedp.Evaluate[chromedp.Void](`{
		const ask = fetch;
		window.fetch = async (address, more) => { const answer = await ask(address, more); return more?.method ? new Response("", { status: 500 }) : answer; };
		(form => { form.closest("details").open = true; form.elements.text.value = "Twice."; form.querySelector("button").click(); })(document.querySelector(".addnote form")); }`))
	b.WaitFor(`window.isHeld === undefined && [...document.querySelectorAll(".notes .text > p")].some(p => p.textContent === "Twice.")`)
	if browsertest.Evaluate[bool](b, `!!document.querySelector(".addnote[open]") || !!sessionStorage.getItem("drafts")`) {
		t.Error("a note that is kept by a second request is a draft too")
	}
}

// browserKeepsWordsThatComeLate goes on writing while a note is on its way.
func browserKeepsWordsThatComeLate(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, longMeeting(1, 5))
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/meetings/1"))
	b.Do(chromedp.Evaluate[chromedp.Void](`{
		const ask = fetch;
		window.fetch = async (address, more) => { const answer = await ask(address, more); if (more?.method) await new Promise(resolve => { window.arrive = resolve; }); return answer; };
		document.querySelector(".addnote summary").click(); }`))
	b.Do(chromedp.SendKeys(chromedp.CSS(".addnote textarea"), "First."), chromedp.Evaluate[chromedp.Void](`document.querySelector(".addnote button").click()`))
	b.WaitFor(`!!window.arrive`)
	b.Do(chromedp.SendKeys(chromedp.CSS(".addnote textarea"), " Second."), chromedp.Evaluate[chromedp.Void](`arrive()`))
	b.WaitFor(`document.querySelector("#note1 .text > p")?.textContent === "First."`)
	if got := browsertest.Evaluate[string](b, `[...document.querySelectorAll("details[open] textarea")].map(t => (t === document.activeElement) + t.closest("li")?.id + t.value).join()`); got != "truenote1First. Second." {
		t.Errorf("the words that came late are in %q", got)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`window.arrive = null, document.querySelector("#note1 button[value=change]").click()`))
	b.WaitFor(`!!window.arrive`)
	b.Do(chromedp.Evaluate[chromedp.Void](`arrive()`))
	b.WaitFor(`document.querySelector("#note1 .text > p")?.textContent === "First. Second." && !document.querySelector(".notes details[open]")`)
	if all, err := s.notes.ForMeeting(t.Context(), 0, 1); err != nil || len(all) != 1 || strings.Count(all[0].Text, "Second") != 1 {
		t.Errorf("the notes are %v, %v", all, err)
	}
}

// browserForgetsOthersSearches searches, and hands the browser to somebody else without the page
// for signing in, as behind a proxy.
func browserForgetsOthersSearches(t *testing.T, c *browsertest.Chromium) {
	s, proxy := newLapsingSite(t)
	b := c.Open(t, s.URL)
	b.Allow("401")
	offered := func(name string) string {
		t.Helper()
		proxy.name.Store(name)
		b.Do(chromedp.Navigate(s.URL+"/"), chromedp.WaitReady(chromedp.CSS("input[role=combobox]")), chromedp.Click(chromedp.CSS("input[name=q]")))
		return browsertest.Evaluate[string](b, `[...document.querySelectorAll("#suggestions .text")].map(e => e.textContent).join()`)
	}
	b.Do(chromedp.Navigate(s.URL + "/?q=walrus"))
	b.WaitFor(`!!document.querySelector(".hit") && Object.keys(localStorage).length > 0`)
	b.Do(chromedp.Evaluate[chromedp.Void](`localStorage.setItem("minutebook:/:searches", '["of whom?"]'), localStorage.setItem("minutebook:/other/:searches", "[]")`))
	if got := offered("bob@acme.example"); got != "walrus" {
		t.Errorf("bob is offered %q", got)
	}
	if got := offered("eve@acme.example"); got != "" {
		t.Errorf("eve is offered %q", got)
	}
	if got := browsertest.Evaluate[string](b, `Object.keys(localStorage).join()`); got != "minutebook:/other/:searches" {
		t.Errorf("the browser keeps %s", got)
	}
}
