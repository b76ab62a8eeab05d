package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// shown reports whether the line of the moment is within the window.
const shown = `(() => { const r = document.querySelector(".lines .here, .lines .now")?.getBoundingClientRect();
	return !!r && r.top >= 0 && r.bottom <= innerHeight; })()`

// TestBrowser uses the page as readers do, in one Chromium.
func TestBrowser(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	inBrowser(t, map[string]func(*testing.T, *browsertest.Chromium){
		"plays where it was said":    browserPlaysWhereItWasSaid,
		"walks by keys":              browserWalksByKeys,
		"without scripts":            browserWithoutScripts,
		"forms without scripts":      browserSendsFormsWithoutScripts,
		"sees what arrives":          browserSeesWhatArrives,
		"goes back to its place":     browserGoesBackToItsPlace,
		"searches":                   browserSearches,
		"searches within":            browserSearchesWithin,
		"draws what it finds":        browserDrawsWhatItFinds,
		"keeps times whole":          browserKeepsTimesWhole,
		"plays a clip":               browserPlaysAClip,
		"quotes":                     browserQuotes,
		"remembers the speed":        browserRemembersTheSpeed,
		"status without session":     browserStatusWithoutSession,
		"is patient":                 browserIsPatient,
		"ticks in place":             browserTicksInPlace,
		"outlives the daemon":        browserOutlivesTheDaemon,
		"regains the recording":      browserRegainsTheRecording,
		"stays harmless":             browserStaysHarmless,
		"acts on the status":         browserActsOnTheStatus,
		"is told of matches":         browserIsToldOfMatches,
		"pops out":                   browserPopsOut,
		"shares connections":         browserSharesConnections,
		"asks for the page again":    browserAsksForThePageAgain,
		"finds what is typed":        browserFindsWhatIsTyped,
		"goes back to its choice":    browserGoesBackToItsChoice,
		"lands at the second":        browserLandsAtTheSecond,
		"knows the line":             browserKnowsTheLine,
		"notes in place":             browserNotesInPlace,
		"keeps what is written":      browserKeepsWhatIsWritten,
		"asks before a refused note": browserAsksBeforeItsNoteIsLeft,
		"keeps late words":           browserKeepsWordsThatComeLate,
		"waits for whole dates":      browserWaitsForWholeDates,
		"closes by escape":           browserClosesByEscape,
		"is seen in few colours":     browserIsSeenInFewColours,
		"shows its buttons":          browserShowsItsButtons,
		"reads around the talk":      browserReadsAroundTheTalk,
		"stays with the reader":      browserStaysWithTheReader,
		"status while indexing":      browserStatusWhileIndexing,
		"copies the moment":          browserCopiesTheMoment,
		"shows what waits":           browserShowsWhatWaits,
		"bears late answers":         browserBearsLateAnswers,
		"bears a proxy's 404":        browserBearsAProxys404,
		"stays at its own address":   browserStaysAtItsOwnAddress,
	})
}

// TestBrowserLayout measures pages and walks through a long one, in one Chromium.
func TestBrowserLayout(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	inBrowser(t, map[string]func(*testing.T, *browsertest.Chromium){
		"axe finds nothing":         browserAxeFindsNothing,
		"is at peace on every page": browserIsAtPeaceOnEveryPage,
		"reads along":               browserReadsAlong,
		"leaves room for the text":  browserLeavesRoomForTheText,
		"prints":                    browserPrints,
	})
}

// TestBrowserPages looks at every page without meetings, and weighs every page with some, in
// one Chromium.
func TestBrowserPages(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	inBrowser(t, map[string]func(*testing.T, *browsertest.Chromium){
		"are light":        browserPagesAreLight,
		"an empty archive": browserShowsAnEmptyArchive,
	})
}

func inBrowser(t *testing.T, tests map[string]func(*testing.T, *browsertest.Chromium)) {
	c := browsertest.Start(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

func browserPlaysWhereItWasSaid(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids...)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/"))
	b.Do(chromedp.SendKeys(chromedp.CSS(`input[name=q]`), "budget"+kb.Enter))
	b.WaitFor(`!!document.querySelector(".moments a")`)
	address := browsertest.Evaluate[string](b, `document.querySelector(".moments a").href`)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	want := u.Query().Get("t")
	if want == "" || want == "0" {
		t.Fatalf("the moment's address %s names no time", address)
	}
	b.Do(chromedp.Click(chromedp.CSS(".moments a")))
	b.WaitFor(`location.pathname.startsWith("/meetings/") && document.querySelector("#media")?.readyState >= 1`)
	b.WaitFor(fmt.Sprintf(`Math.abs(document.querySelector("#media").currentTime - %s) < 0.5`, want))
	b.WaitFor(shown)
	b.WaitFor(fmt.Sprintf(`document.querySelector(".lines .now")?.dataset.t === "%s"`, want))

	// A click on another line of the transcript goes there, and plays.
	line := browsertest.Evaluate[string](b, `(() => { const l = document.querySelectorAll(".lines > li")[12]; l.scrollIntoView({block: "center"}); return l.dataset.t })()`)
	b.Do(chromedp.Click(chromedp.CSS(".lines > li:nth-child(13) p")))
	b.WaitFor(fmt.Sprintf(`(() => { const t = document.querySelector("#media").currentTime - %s; return t >= -0.2 && t < 15 })()`, line))
	b.WaitFor(`!document.querySelector("#media").paused`)
	b.WaitFor(fmt.Sprintf(`new URLSearchParams(location.search).get("t") === "%s"`, line))

	// The recording pulls the transcript along.
	far := browsertest.Evaluate[float64](b, `(() => { const all = document.querySelectorAll(".lines > li"), l = all[all.length - 5];
		document.querySelector("#media").currentTime = Number(l.dataset.t); return Number(l.dataset.t) })()`)
	b.WaitFor(fmt.Sprintf(`Number(document.querySelector(".lines .now")?.dataset.t) >= %v`, far))
	b.WaitFor(shown)

	// Keys: pause, back five seconds, search.
	b.Do(chromedp.KeyEvent(" "))
	b.WaitFor(`document.querySelector("#media").paused`)
	before := browsertest.Evaluate[float64](b, `document.querySelector("#media").currentTime`)
	b.Do(chromedp.KeyEvent(kb.ArrowLeft))
	b.WaitFor(fmt.Sprintf(`Math.abs(document.querySelector("#media").currentTime - %v + 5) < 0.5`, before))
	b.Press("/")
	b.WaitFor(`document.activeElement?.name === "find"`)
	b.Press("/")
	b.WaitFor(`document.activeElement?.name === "q"`)
}

func browserWalksByKeys(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL+"/?q=budget"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"), chromedp.KeyEvent("j"))
	b.WaitFor(`document.activeElement === document.querySelectorAll("main a.row")[1]`)
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.WaitFor(`location.pathname.startsWith("/meetings/")`)
	b.WaitFor(shown)
	b.Do(chromedp.KeyEvent("?"))
	b.WaitFor(`location.pathname === "/help"`)
	turn := func(keys string, found int) { // turns them off or on, and presses one
		b.Do(chromedp.Navigate(s.URL+"/help"), chromedp.Click(chromedp.CSS("[data-keys] input")))
		b.WaitFor(`document.cookie === "minutebook-keys=` + keys + `"`)
		b.Do(chromedp.Navigate(s.URL+"/?q=budget"), chromedp.KeyEvent("j"))
		if got := browsertest.Evaluate[int](b, `[...document.querySelectorAll("main a.row")].indexOf(document.activeElement)`); got != found {
			t.Errorf("keys %s: j goes to result %d, want %d", keys, got, found)
		}
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`localStorage.setItem("keys", "on")`)) // as an old version kept it
	turn("off", -1)
	turn("on", 0)
	b.Do(chromedp.Navigate(s.URL + "/calendar"))
	b.WaitFor(`document.querySelectorAll('.year td > a[tabindex="0"]').length === 1`)
	b.Do(chromedp.Focus(chromedp.CSS(`.year td > a[tabindex="0"]`)), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	b.WaitFor(`document.activeElement === document.querySelectorAll(".year td > a")[1]`)
	b.Do(chromedp.KeyEvent(kb.ArrowUp)) // nothing is above it in its column, or the first day is
	b.Do(chromedp.KeyEvent(kb.End))
	b.WaitFor(`document.activeElement === [...document.querySelectorAll(".year td > a")].at(-1)`)
}

func browserWithoutScripts(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids...)
	b := c.Open(t, s.URL)
	_, err := chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate(s.URL + "/?q=budget"))
	if browsertest.Evaluate[bool](b, `!!document.querySelector(".controls, .resume")`) {
		t.Fatal("scripts run")
	}
	b.Do(chromedp.Click(chromedp.CSS(".moments a")), chromedp.WaitReady(chromedp.CSS(".lines .here")))
	b.WaitFor(shown)
	b.WaitFor(`Math.abs(document.querySelector("#media").currentTime - Number(new URLSearchParams(location.search).get("t"))) < 0.5`)

	// A link that somebody was sent holds the time alone.
	b.Do(chromedp.EmulateViewport(390, 850), chromedp.Navigate(s.URL+"/?q=budget"), chromedp.WaitReady(chromedp.CSS(".facets")))
	if browsertest.Evaluate[bool](b, `document.querySelector(".hits").getBoundingClientRect().top > document.querySelector(".facets").getBoundingClientRect().top`) {
		t.Error("on a phone the results stand below everything that narrows them")
	}
	b.Do(chromedp.EmulateViewport(1280, 850))
	b.Do(chromedp.Navigate(s.URL+"/meetings/"+itoa(s.ids[0])+"?t=600"), chromedp.WaitReady(chromedp.CSS(".lines .here")))
	b.WaitFor(shown)
	b.WaitFor(`Math.abs(document.querySelector("#media").currentTime - 600) < 0.5`)
}

func browserSeesWhatArrives(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/"))
	s.apply(meeting(424242, "Just delivered", "2026-07-01T11:00:00Z", ""))
	b.WaitFor(`document.querySelector("main")?.textContent.includes("Just delivered")`)
	b.Do(chromedp.Navigate(s.URL+"/meetings/424242"), chromedp.WaitReady(chromedp.CSS(".nomedia")))
	s.attachVideo(424242)
	b.WaitFor(`document.querySelector("#media")?.readyState >= 1 && !!document.querySelector(".controls")`)
	if got := browsertest.Evaluate[string](b, `performance.getEntriesByType("resource").map(({ name }) => name).filter(name => name.startsWith(location.href) && !name.includes("?player&")).join()`); got != "" {
		t.Errorf("an open page reads the meeting by itself: %s", got)
	}

	// The transcript arrives, and is changed while one reads it.
	s.later(meeting(424242, "Just delivered", "2026-07-01T11:00:00Z", `"transcript":[{"speaker":{"display_name":"Ana"},"text":"Good morning.","timestamp":"00:00:01"}]`))
	b.WaitFor(`document.querySelectorAll(".lines > li").length === 1`)
	s.later(meeting(1, "Another", "2026-07-01T11:00:00Z", ""))
	if _, err := s.archive.Apply(t.Context(), []archive.Observation{observe(t, 48*60*60, meeting(424242, "Just delivered", "2026-07-01T11:00:00Z",
		`"transcript":[{"speaker":{"display_name":"Ana"},"text":"Good evening.","timestamp":"00:00:01"}]`))}); err != nil {
		t.Fatal(err)
	}
	b.WaitFor(`!!document.querySelector("button.renew")`)
	b.WaitFor(`document.querySelector("ol.lines").textContent.includes("morning")`) // nothing moves under who reads
	b.Do(chromedp.Click(chromedp.CSS("button.renew")))
	b.WaitFor(`document.querySelector("ol.lines").textContent.includes("evening") && !document.querySelector("button.renew")`)
}

// browserStatusWithoutSession sees the budget move on the status page. Then the session
// ends after the last event: the page that asks to sign in replaces no part of it.
func browserStatusWithoutSession(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", Budget: []api.Usage{{Class: api.ClassHeavy, Limit: 30}}}}}
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL + "/status"))
	b.WaitFor(`document.querySelector(".budget meter")?.value === 0`)
	s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", Budget: []api.Usage{{Class: api.ClassHeavy, Limit: 30, Used: 17, Waiting: 2}}}}}
	b.WaitFor(`document.querySelector(".budget meter").value === 17 && document.querySelector(".budget .n").textContent === "17 of 30, 2 waiting"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`window.fetch = async () => { window.asked = true; return new Response("<!doctype html><main>Sign in</main>"); }`))
	for i := 0; i < 60 && !browsertest.Evaluate[bool](b, `!!window.asked`); i++ { // the first event is compared with nothing
		s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme"}, {Name: "other" + itoa(int64(i))}}}
		time.Sleep(time.Second)
	}
	b.WaitFor(`window.asked`)
	b.WaitFor(`document.querySelector("main").textContent.includes("acme")`)
}

// browserIsAtPeaceOnEveryPage opens the pages on a phone. [browserAxeFindsNothing] opens
// them on a desk, and makes the window narrow afterwards.
func browserIsAtPeaceOnEveryPage(t *testing.T, c *browsertest.Chromium) {
	const width = 390
	s := newSite(t)
	s.attachVideo(s.ids[0])
	b := c.Open(t, s.URL)
	b.Do(chromedp.EmulateViewport(width, 850))
	for _, page := range []string{"/", "/?q=budget", "/actions", "/people", "/people/aoife.brennan@tidewell.example", "/calendar", "/now", "/status", "/help", "/saved", "/trends?q=budget", "/facet?field=person&q=budget", "/meetings/" + itoa(s.ids[0]) + "?t=60&q=budget", "/meetings/" + itoa(s.ids[1])} {
		b.Do(chromedp.Navigate(s.URL + page))
		if pageWidth := browsertest.Evaluate[int64](b, `document.documentElement.scrollWidth`); pageWidth > width {
			t.Errorf("%s is %d wide in a window of %d", page, pageWidth, width)
		}
		if n := browsertest.Evaluate[int](b, `document.querySelectorAll("img:not([alt]), input:not([type=hidden], [aria-label], [id], label > input), button:empty:not([aria-label]), a:not([href])").length`); n > 0 {
			t.Errorf("%s: %d things without a name", page, n)
		}
		if hidden := browsertest.Evaluate[string](b, `[...document.querySelectorAll("main :is(ul, ol, dl, table, form, p, h1, h2, h3):not(:empty)")].filter(e =>
			!e.checkVisibility() && !e.closest("[hidden], details:not([open]), dialog, noscript")).map(e => e.outerHTML.slice(0, 90)).join("\n")`); hidden != "" {
			t.Errorf("%s: on a phone nobody sees\n%s", page, hidden)
		}
	}
	b.Do(chromedp.EmulateViewport(width, 850, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.Do(chromedp.Navigate(s.URL + "/meetings/" + itoa(s.ids[0])))
	b.WaitFor(`matchMedia("(pointer: coarse)").matches && document.querySelectorAll(".chapters a").length > 1`)
	if small := browsertest.Evaluate[string](b, `document.querySelector(".chapters").open = true, [...document.querySelectorAll("main :is(.chapters a, .parts a:not(.which), .takeaway a, summary)")]
		.filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 40).map(e => e.outerHTML.slice(0, 90)).join("\n")`); small != "" {
		t.Errorf("too small for a finger:\n%s", small)
	}
}

// browserShowsAnEmptyArchive opens every page of an archive without meetings.
func browserShowsAnEmptyArchive(t *testing.T, c *browsertest.Chromium) {
	axe := browsertest.Axe(t)
	s := newSiteBehind(t)
	s.server.Setup = &Setup{Accounts: func() []string { return nil }}
	b := c.Open(t, s.URL)
	b.Allow("404")
	for _, page := range []string{"/", "/?type=Review", "/?q=budget", "/?q=budget+type%3AReview", "/facet?field=person&q=budget", "/trends", "/trends?q=budget&q=plan", "/trends?q=budget&by=person",
		"/actions", "/actions?state=all", "/people", "/people?q=ann", "/people/ann@own.example", "/calendar", "/calendar/2026-06", "/now", "/saved", "/status", "/setup", "/help", "/meetings/1"} {
		if body := s.shows(map[bool]int{true: 404, false: 200}[page == "/people/ann@own.example" || page == "/meetings/1"], page); strings.Contains(body, `class="banner"`) {
			t.Errorf("%s: nothing is indexed, and will be", page)
		}
		for i, scheme := range []string{"light", "dark"} {
			width := []int64{1280, 390}[i] // colours do not depend on the width, nor labels on the scheme
			b.Prefer(scheme)
			b.Do(chromedp.EmulateViewport(width, 850))
			if i == 0 {
				b.Do(chromedp.Navigate(s.URL + page))
			}
			b.Check(axe, fmt.Sprintf("%s, %s, %d wide", page, scheme, width))
			checkLayout(t, b, page, width)
			takePicture(t, b, page+scheme+itoa(width))
		}
		if said := browsertest.Evaluate[string](b, `document.querySelector("main").innerText.trim()`); len(said) < 40 {
			t.Errorf("%s says no more than %q", page, said)
		}
	}
}
