package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestNotesOutliveTheSession sends a note after the session has ended: the answer holds the
// note, to be sent again after signing in.
func TestNotesOutliveTheSession(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newEntrySite(t, nil)
	s.signIn("ann@acme.example", true)
	s.wants(303, "POST", "/logout", url.Values{})
	form := url.Values{"do": {"add"}, "text": {"The walrus hid.\r\nTwice."}, "at": {"1:05"}, "private": {"yes"}}
	s.wants(401, "POST", "/meetings/"+itoa(s.ids[0])+"/notes", form, "Your note was not kept", "The walrus hid.\r\nTwice.</textarea>", `value="1:05"`, " checked>", `href="/login" target="_blank"`)
	if body := s.wants(401, "POST", "/actions/tick", url.Values{"text": {"x"}}, "Signed out", "nothing was kept", `href="/login" target="_blank"`); strings.Contains(body, "not kept") {
		t.Error("a tick is no note")
	}
}

// browserOutlivesTheSession ticks an item off after the session has ended: nothing is lost
// for one who signs in again.
func browserOutlivesTheSession(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	s.apply(meeting(9000, "Walrus", "2026-06-10T09:00:00Z", `"action_items":[{"description":"Feed it","recording_timestamp":"00:01:01"}]`))
	ana := s.signIn("ana@acme.example", false)
	b := c.Open(t, s.URL)
	b.Allow("401")
	s.giveSession(b)
	b.Do(chromedp.Navigate(s.URL + "/actions"))
	if _, err := s.people.EndSessions(t.Context(), access.ActorCommand, ana.ID); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("input[name=q]"), "wal")) // nothing is suggested, and nothing breaks
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".tick button").click()`))
	b.WaitFor(`location.pathname === "/actions/tick" && document.querySelector("main").textContent.includes("load this page again")`)
	s.wants(303, "POST", "/login", url.Values{"address": {"ana@acme.example"}, "password": {goodPassword}}, "/")
	s.giveSession(b) // as another window would
	b.Do(chromedp.Evaluate[chromedp.Void](`location.reload()`))
	b.WaitFor(`location.pathname === "/actions" && document.querySelectorAll(".tick button").length === 0`)
}

// browserShowsTheEndOfRights holds the page of a meeting open while its reader loses it, and
// another one while the session ends.
func browserShowsTheEndOfRights(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	s.apply(meeting(9000, "Walrus", "2026-06-10T09:00:00Z", ""))
	bob := s.signIn("bob@acme.example", false)
	share := func(who map[string]archive.ShareLevel) {
		t.Helper()
		if err := s.archive.SetShares(t.Context(), 9000, who); err != nil {
			t.Fatal(err)
		}
	}
	share(map[string]archive.ShareLevel{archive.UserPrincipal("bob@acme.example"): archive.ShareLimited})
	b := c.Open(t, s.URL)
	b.Allow("404", "401")
	s.giveSession(b)
	b.Do(chromedp.Navigate(s.URL + "/meetings/9000"))
	b.WaitFor(`document.querySelector("h1").textContent === "Walrus"`)
	half := func(text string) {
		t.Helper()
		b.Do(chromedp.Click(chromedp.CSS(".addnote summary")), chromedp.SendKeys(chromedp.CSS(".addnote textarea"), text))
	}
	half("Half a note.")
	share(nil)
	b.WaitFor(`document.querySelector("main h1")?.textContent === "Not Found" && !document.body.textContent.includes("Walrus")`)
	b.WaitFor(`document.querySelector(".unkept textarea")?.value === "Half a note." && document.querySelector(".unkept").textContent.includes("its meeting is not there for you any more")`)
	b.Check(browsertest.Axe(t), "a note that was not kept")
	takePicture(t, b, "unkept")
	share(map[string]archive.ShareLevel{archive.UserPrincipal("bob@acme.example"): archive.ShareLimited})
	asked := make(chan struct{}, 1)
	must(t, chromedp.Listen(b.Context, func(e any) {
		if _, is := e.(*page.EventJavascriptDialogOpening); !is {
			return
		}
		go func() { // an answer within the listener would wait for itself
			_, err := chromedp.Call(b.Context, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			if err == nil {
				asked <- struct{}{}
			}
		}()
	}))
	b.Do(chromedp.Navigate(s.URL + "/meetings/9000")) // the note was shown once
	select {
	case <-asked:
	case <-time.After(5 * time.Minute):
		t.Error("the words are left by mistake")
	}
	if browsertest.Evaluate[bool](b, `[...document.querySelectorAll("textarea")].some(t => t.value)`) {
		t.Error("the note comes again")
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`sessionStorage.setItem("drafts", JSON.stringify(["/meetings/9001", "eve@acme.example", [{ text: "Eve's." }]]))`))
	b.Do(chromedp.Navigate(s.URL + "/meetings/9001"))
	b.WaitFor(`document.querySelector("main h1")?.textContent === "Not Found"`)
	if browsertest.Evaluate[bool](b, `!!document.querySelector(".unkept") || !!sessionStorage.getItem("drafts")`) {
		t.Error("another person's draft is shown")
	}
	b.Do(chromedp.Navigate(s.URL + "/meetings/9000"))

	half("Another half.")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".addnote [name=private]").checked = true, document.querySelector(".addnote [name=at]").value = "1:05"`))
	if _, err := s.people.EndSessions(t.Context(), access.ActorCommand, bob.ID); err != nil {
		t.Fatal(err)
	}
	s.apply(meeting(9000, "Walrus", "2026-06-10T10:00:00Z", ""))
	b.WaitFor(`location.pathname === "/login" && document.querySelector(".unkept")?.textContent.includes("put back")`)
	if browsertest.Evaluate[bool](b, `!!document.querySelector("textarea") || document.body.textContent.includes("Another half.")`) {
		t.Error("whoever sits there reads the note")
	}
	takePicture(t, b, "unkept-login")
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=address]`), "bob@acme.example"))
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=password]`), goodPassword+kb.Enter))
	b.WaitFor(`location.pathname === "/meetings/9000" && document.querySelector(".addnote").open && (({ text, at, private: own }) => text.value + at.value + own.checked)(document.querySelector(".addnote form").elements) === "Another half.1:05true"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".addnote button").click()`))
	b.WaitFor(`document.querySelector(".notes .text > p")?.textContent === "Another half."`)
	b.Do(chromedp.Navigate(s.URL + "/"))
	b.WaitFor(`!!document.querySelector("[data-live]")`)
	if _, err := s.people.EndSessions(t.Context(), access.ActorCommand, bob.ID); err != nil {
		t.Fatal(err)
	}
	s.apply(meeting(9001, "Seal", "2026-06-10T10:00:00Z", `"recorded_by":{"name":"Bob","email":"bob@acme.example"}`))
	b.WaitFor(`location.pathname === "/login"`)
}

// browserShowsTheEndOfAPerson removes people whose pages are open: those that wait for changes
// lead to sign in, others when they are seen again.
func browserShowsTheEndOfAPerson(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	s.add("ann@acme.example", true)
	b := c.Open(t, s.URL)
	b.Allow("401")
	for i, path := range []string{"/status", "/people", "/?q=walrus"} {
		bob := s.signIn(fmt.Sprintf("bob%d@acme.example", i), i == 0)
		s.giveSession(b)
		b.Do(chromedp.Navigate(s.URL + path))
		b.WaitFor(`!!document.querySelector(".signed-in")`)
		must(t, s.people.RemovePerson(t.Context(), access.ActorCommand, bob.ID))
		if i > 0 {
			b.Do(chromedp.Evaluate[chromedp.Void](setHidden + `; turn(true), turn(false)`))
		}
		b.WaitFor(`location.pathname === "/login" && !document.body.textContent.includes("bob")`)
	}
}

// browserShowsNobodyElsesPage has another person sign in in another window: a page that was open
// becomes theirs, one that is seen by itself, and one that was not when it is seen again.
func browserShowsNobodyElsesPage(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	s.apply(meeting(9000, "Walrus", "2026-06-10T09:00:00Z", `"action_items":[{"description":"Feed it","recording_timestamp":"00:01:01"}]`))
	shares := map[string]archive.ShareLevel{}
	for i := range 3 {
		shares[archive.UserPrincipal(fmt.Sprintf("ana%d@acme.example", i))] = archive.ShareLimited
		shares[archive.UserPrincipal(fmt.Sprintf("bob%d@acme.example", i))] = archive.ShareLimited
	}
	must(t, s.archive.SetShares(t.Context(), 9000, shares))
	b := c.Open(t, s.URL)
	b.Allow("401")
	for i, path := range []string{"/meetings/9000", "/meetings/9000", "/actions"} {
		ana := s.signIn(fmt.Sprintf("ana%d@acme.example", i), false)
		_, err := s.notes.Add(t.Context(), notes.Note{RecordingID: 9000, At: -1, Text: "Secret.", Person: ana.ID, Private: true})
		must(t, err)
		s.giveSession(b)
		b.Do(chromedp.Navigate(s.URL + path))
		b.WaitFor(`document.querySelector(".signed-in [title]")?.title === "` + ana.Address() + `" && document.body.textContent.includes("Feed it")`)
		isSeen := i == 0
		if !isSeen {
			b.Do(chromedp.Evaluate[chromedp.Void](setHidden + `; turn(true)`))
		}
		s.signIn(fmt.Sprintf("bob%d@acme.example", i), false)
		s.giveSession(b)
		_, err = s.people.EndSessions(t.Context(), access.ActorCommand, ana.ID)
		must(t, err)
		if !isSeen {
			b.Do(chromedp.Evaluate[chromedp.Void](`turn(false)`))
		}
		b.WaitFor(fmt.Sprintf(`document.querySelector(".signed-in [title]")?.title === "bob%d@acme.example" && !document.body.textContent.includes("Secret.")`, i))
	}
}

// browserShowsTheEndOfASession ends the session of a page that browsers reach by plain HTTP in
// a network: they do not say there that a script asks, which is led to sign in as a page is.
func browserShowsTheEndOfASession(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	home, err := url.Parse(s.URL)
	must(t, err)
	plain := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(home)
		r.Out.Header.Del("Sec-Fetch-Dest")
	}})
	t.Cleanup(plain.Close)
	address := "http://localhost" + plain.Listener.Addr().String()[len("127.0.0.1"):]
	bob := s.signIn("bob@acme.example", false)
	b := c.Open(t, address)
	b.Allow("401")
	s.giveSession(b)
	b.Do(chromedp.Navigate(address + "/"))
	b.WaitFor(`!!document.querySelector("[data-live]")`)
	_, err = s.people.EndSessions(t.Context(), access.ActorCommand, bob.ID)
	must(t, err)
	s.apply(meeting(9001, "Seal", "2026-06-10T10:00:00Z", `"recorded_by":{"name":"Bob","email":"bob@acme.example"}`))
	b.WaitFor(`location.pathname === "/login"`)
}

// giveSession gives the browser the session of the client.
func (s *entrySite) giveSession(b *browsertest.Browser) {
	s.t.Helper()
	home, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, cookie := range s.Jar.Cookies(home) {
		if _, err := chromedp.Call(b.Context, network.SetCookie, network.SetCookieParams{Name: cookie.Name, Value: cookie.Value, URL: s.URL}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// browserKeepsItsNote keeps a note while a colleague and another window add theirs: the focus goes
// to it, and to the form when it is deleted.
func browserKeepsItsNote(t *testing.T, c *browsertest.Chromium) {
	s := newEntrySite(t, nil)
	s.apply(meeting(9000, "Walrus", "2026-06-10T09:00:00Z", ""))
	bob, _ := s.add("bob@acme.example", true)
	ana := s.signIn("ana@acme.example", false)
	b := c.Open(t, s.URL)
	s.giveSession(b)
	add := func(person access.Person, text string) {
		_, err := s.notes.Add(t.Context(), notes.Note{RecordingID: 9000, At: -1, Text: text, Person: person.ID})
		must(t, err)
	}
	b.Do(chromedp.Navigate(s.URL + "/meetings/9000"))
	add(bob, "Bob's.")
	add(ana, "Ana's other one.")
	b.Do(chromedp.Click(chromedp.CSS(".addnote summary")), chromedp.SendKeys(chromedp.CSS(".addnote textarea"), "Ana's. "), chromedp.Click(chromedp.CSS(".addnote button")))
	b.WaitFor(`document.querySelectorAll(".notes li").length === 3`)
	if got := browsertest.Evaluate[string](b, `document.activeElement.closest("li")?.querySelector("p").textContent ?? ""`); got != "Ana's." {
		t.Errorf("the focus is at the note %q", got)
	}
	add(bob, "Bob's second.")
	b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".notes li")].find(l => l.textContent.includes("Ana's.")).querySelector("[value=delete]").click()`))
	b.WaitFor(`document.querySelectorAll(".notes li").length === 3 && document.querySelector(".notes").textContent.includes("Bob's second.") && !!document.activeElement.closest(".addnote")`)
}

// TestStaleForms sends forms of a window that does not know what another window did.
func TestStaleForms(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", ""))
	s.changes("/meetings/1/notes", url.Values{"do": {"add"}, "text": {"First."}}, "/meetings/1#note1")
	deletion := url.Values{"do": {"delete"}, "note": {"1"}, "text": {"First."}}
	s.changes("/meetings/1/notes", deletion, "/meetings/1#notes")
	if resp, body := s.submit("/meetings/1/notes", deletion.Encode()); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "not there any more") || strings.Contains(body, "not kept") {
		t.Errorf("deleting a note twice: %s %s", resp.Status, body)
	}

	s.changes("/saved", url.Values{"name": {"A"}, "query": {"walrus"}}, "/saved")
	seen := url.Values{"seen": {s.state("/saved")}}
	seen.Set("name", "B")
	seen.Set("query", "walrus herd")
	s.changes("/saved/1/rename", seen, "/saved")
	seen.Set("name", "A")
	seen.Set("query", "walrus type:Call")
	if resp, body := s.submit("/saved/1/rename", seen.Encode()); resp.StatusCode != http.StatusConflict || !strings.Contains(body, "another window") || !strings.Contains(body, "walrus herd") {
		t.Errorf("changing a search that another window changed: %s %s", resp.Status, body)
	}

	old, _, _ := strings.Cut(strings.SplitAfter(s.shows(200, "/now"), `name="until" value="`)[1], `"`)
	s.apply(meeting(2, "Zebra", "2026-06-11T09:00:00Z", ""))
	now, _, _ := strings.Cut(strings.SplitAfter(s.shows(200, "/now", "Zebra"), `name="until" value="`)[1], `"`)
	s.changes("/now/looked", url.Values{"until": {now}}, "/now")
	s.changes("/now/looked", url.Values{"until": {old}}, "/now")
	if body := s.shows(200, "/now"); strings.Contains(body, "Zebra") {
		t.Error("what one has looked at is new again")
	}
}

// browserIsPatient leaves pages open without an answer: they ask again, less and less often.
func browserIsPatient(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	for _, path := range []string{"/", "/status"} {
		b.Do(chromedp.Navigate(s.URL + path))
		b.Do(chromedp.Evaluate[chromedp.Void](`{
			const later = window.setTimeout;
			window.pauses = [];
			window.setTimeout = (f, ms) => { if (ms >= 1000) pauses.push(ms); return later(f, ms / 1000); };
			window.fetch = async () => new Response("{}", { status: 503 });
			window.EventSource = class extends EventTarget { constructor() { super(); later(() => this.dispatchEvent(new Event("error")), 1); } close() {} };
			document.dispatchEvent(new Event("visibilitychange"));
		}`))
		s.apply(meeting(9000, "One", "2026-06-10T09:00:00Z", ""), meeting(9001, path, "2026-06-10T09:00:00Z", ""))
		b.WaitFor(`pauses.length > 6`)
		b.WaitFor(`pauses.slice(0, 6).join() === "5000,10000,20000,40000,60000,60000"`)
	}
}

// browserTicksInPlace ticks items off far down a list, and while a recording plays: the place, the
// focus and the recording go on. A tick that is refused is answered by its page.
func browserTicksInPlace(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids...)
	b := c.Open(t, s.URL)
	b.Allow("404")
	b.Do(chromedp.Navigate(s.URL + "/actions"))
	number := browsertest.Evaluate[int](b, `window.stays = true, scrollTo(0, 1500), window.boxes = () => [...document.querySelectorAll(".tick button")], window.at = boxes().findIndex(b => b.getBoundingClientRect().top > 300),
		window.second = boxes()[at + 1], window.label = second.ariaLabel, window.top_ = second.getBoundingClientRect().top, boxes().length`)
	b.Do(chromedp.Evaluate[chromedp.Void](`boxes()[at].click()`))
	b.WaitFor(fmt.Sprintf(`boxes().length === %d && stays && document.activeElement.ariaLabel === label && Math.abs(document.activeElement.getBoundingClientRect().top - top_) < 2`, number-1))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.form.elements.text.value = "of no meeting", document.activeElement.click()`))
	b.WaitFor(`location.pathname === "/actions/tick" && document.querySelector("main").textContent.includes("no such action item")`)

	// After the last item of a list, the focus goes to the one before, and to the page after the only one.
	b.Do(chromedp.Navigate(s.URL + "/actions"))
	b.Do(chromedp.Evaluate[chromedp.Void](`window.boxes = () => [...document.querySelectorAll(".tick button")], window.label = boxes().at(-2).ariaLabel, boxes().at(-1).click()`))
	b.WaitFor(fmt.Sprintf(`boxes().length === %d`, number-2))
	if !browsertest.Evaluate[bool](b, `document.activeElement.ariaLabel === label`) {
		t.Error("the focus is not at the item before the last one")
	}
	site := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"action_items":[{"description":"Feed it","recording_timestamp":"00:01:01"}]`))
	other := c.Open(t, site.URL)
	other.Do(chromedp.Navigate(site.URL+"/actions"), chromedp.Evaluate[chromedp.Void](`document.querySelector(".tick button").click()`))
	other.WaitFor(`!document.querySelector(".tick button")`)
	if !browsertest.Evaluate[bool](other, `document.activeElement.id === "main"`) {
		t.Error("the focus is not at the page after its only item")
	}

	b.Do(chromedp.Navigate(s.URL + "/actions?state=all"))
	address := browsertest.Evaluate[string](b, `[...document.querySelectorAll(".actions li")].find(l => l.querySelector("form.tick")).querySelector("a.row").href.split("?")[0]`)
	b.Do(chromedp.Navigate(address))
	b.WaitFor(`document.querySelector("#media")?.readyState >= 2`)
	b.Do(chromedp.Evaluate[chromedp.Void](`window.player = document.querySelector("#media"), player.play(), document.querySelector(".tick button").focus(), document.activeElement.click()`))
	b.WaitFor(`!!document.querySelector("#action_items li.done form") && document.querySelector("#media") === window.player && !player.paused && document.activeElement.ariaLabel.startsWith("Open again")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.click()`))
	b.WaitFor(`!document.querySelector("#action_items li.done form") && !player.paused`)
}
