package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/rs/zerolog"

	"minutebook/internal/browsertest"
	"minutebook/internal/httpserver"
	"minutebook/internal/testrun"
)

// serveAt serves as the daemon does, until stop is called.
func serveAt(t *testing.T, h http.Handler, address string) (stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := httpserver.New(h, httpserver.Times{}, zerolog.Nop())
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan error, 1)
	go func() { done <- httpserver.Serve(ctx, srv, l, httpserver.Bounds{}, 5*time.Second) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// browserOutlivesTheDaemon stops the daemon beneath open pages and starts it again: the
// pages do not press it, and go on afterwards.
func browserOutlivesTheDaemon(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids...)
	address := testrun.FreeAddress(t)
	stop := serveAt(t, s.server.handler(), address)
	home := "http://" + address
	open := func(page string) *browsertest.Browser {
		b := c.Open(t, home)
		b.Allow("503", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING")
		b.Do(chromedp.Navigate(home + page))
		b.Do(chromedp.Evaluate[chromedp.Void](`{ window.asked = 0; const ask = fetch; window.fetch = (...all) => { asked++; return ask(...all); }; }`))
		return b
	}
	talk := "/meetings/" + itoa(s.ids[0])
	list, status, meeting_, form := open("/"), open("/status"), open(talk), open(talk)
	status.WaitFor(`!!document.querySelector("[data-away]")`)
	meeting_.WaitFor(`document.querySelector("#media")?.readyState >= 2`)
	meeting_.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#media").play()`))
	stop()

	status.WaitFor(`document.querySelector("[data-away]").textContent.includes("Not connected since")`)
	list.Do(chromedp.SendKeys(chromedp.CSS("input[name=q]"), "budg"))
	form.Do(chromedp.Click(chromedp.CSS(".addnote summary")))
	form.Do(chromedp.SendKeys(chromedp.CSS(".addnote textarea"), "The walrus hid."))
	form.Do(chromedp.Click(chromedp.CSS(".addnote button")))
	form.WaitFor(`document.querySelector(".addnote .unanswered")?.role === "alert"`)
	for name, b := range map[string]*browsertest.Browser{"home": list, "meeting": meeting_} {
		if asked := browsertest.Evaluate[int](b, `asked`); asked > 12 { // four letters, and the archive less and less often
			t.Errorf("%s: %d requests while the daemon stopped", name, asked)
		}
	}

	again, err := newServer(s.options())
	if err != nil {
		t.Fatal(err)
	}
	serveAt(t, again.handler(), address)
	s.apply(meeting(424242, "Came afterwards", "2026-07-01T11:00:00Z", ""))
	list.WaitFor(`document.querySelector("main").textContent.includes("Came afterwards")`)
	list.Do(chromedp.SendKeys(chromedp.CSS("input[name=q]"), "e"))
	list.WaitFor(`!!document.querySelector("#suggestions li")`)
	status.WaitFor(`!document.querySelector("[data-away]").textContent`)
	meeting_.Do(chromedp.Evaluate[chromedp.Void](`{ const m = document.querySelector("#media"); m.currentTime = m.duration - 300; }`))
	meeting_.WaitFor(`(m => !m.error && !m.paused && m.readyState >= 3 && m.currentTime > m.duration - 300)(document.querySelector("#media"))`)

	// The form that was not sent is as it was.
	form.WaitFor(`document.querySelector(".addnote textarea").checkVisibility() && document.querySelector(".addnote textarea").value === "The walrus hid."`)
	form.Do(chromedp.Click(chromedp.CSS(".addnote button")))
	form.WaitFor(`document.querySelector(".notes .text p")?.textContent === "The walrus hid."`)
}

// haltingWriter writes left bytes, and nothing after them until the request ends.
type haltingWriter struct {
	http.ResponseWriter
	ctx  context.Context
	left int
}

func (w *haltingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	if w.left -= n; err == nil && n < len(p) {
		err = http.NewResponseController(w.ResponseWriter).Flush()
		<-w.ctx.Done()
		err = errors.Join(err, w.ctx.Err())
	}
	return n, err
}

// browserRegainsTheRecording lets the browser give a playing recording up, and another one
// wait without an end: each goes on at once when play is pressed, at its moment and speed,
// with the words that are selected. Every recording has an address of its own, of which
// nothing is kept from before, and only its beginning comes at first.
func browserRegainsTheRecording(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	s.attachVideo(s.ids...)
	var answers atomic.Value // how requests are answered
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case answers.Load() == "" || answers.Load() != "502" && !strings.Contains(r.URL.Path, "/media/"):
			s.Config.Handler.ServeHTTP(w, r)
		case answers.Load() == "beginning":
			s.Config.Handler.ServeHTTP(&haltingWriter{w, r.Context(), 200_000}, r)
		case answers.Load() == "silence":
			<-r.Context().Done()
		default: // as a proxy does before a daemon that is away
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer home.Close()
	defer home.CloseClientConnections()
	b := c.Open(t, home.URL)
	b.Allow("502", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONTENT_LENGTH_MISMATCH")
	press := func(how string) { b.Do(chromedp.Evaluate[chromedp.Void](how)) }
	// breakOff opens the i-th meeting, and goes to a moment of its recording that does not come.
	breakOff := func(i int, answer string) {
		answers.Store("beginning")
		b.Do(chromedp.Navigate(home.URL + "/meetings/" + itoa(s.ids[i])))
		b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
		answers.Store(answer)
		home.CloseClientConnections()
		press(`window.player = document.querySelector("#media"), window.far = player.duration - 300, window.stays = true, window.errors = 0,
			player.addEventListener("error", () => errors++), player.addEventListener("stalled", () => { window.stalled = true; }), window.control = document.querySelector(".controls .play"),
			getSelection().selectAllChildren(document.querySelectorAll(".lines p")[1]), window.chosen = String(getSelection()), scrollTo(0, 900),
			player.playbackRate = 1.5, player.currentTime = far, control.click()`)
	}
	const (
		lost   = `player.error && control.textContent === "Play" && document.querySelector(".controls .now").textContent === "Does not load"`
		goesOn = `!player.error && !player.paused && player.readyState >= 3 && player.currentTime > far && player.currentTime < far + 60 && player.playbackRate === 1.5 && stays && chosen && String(getSelection()) === chosen`
	)
	for i, how := range []string{`control.click()`, `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }))`, `player.pause(), player.play().catch(() => {})`} {
		breakOff(i, "502")
		b.WaitFor(lost)
		press(how) // in vain: the moment is kept
		b.WaitFor(lost + ` && errors === 2`)
		answers.Store("")
		press(`control.click()`)
		b.WaitFor(goesOn)
	}

	// The archive is there again, and so is the recording: it waits for the reader.
	breakOff(3, "502")
	b.WaitFor(lost)
	answers.Store("")
	b.WaitFor(`!player.error && player.paused && player.readyState >= 2 && Math.abs(player.currentTime - far) < 1 && player.playbackRate === 1.5`)

	breakOff(4, "silence")
	b.WaitFor(`window.stalled && player.readyState < 3`)
	answers.Store("")
	press(`control.click()`)
	b.WaitFor(`player.paused`)
	press(`control.click()`)
	b.WaitFor(goesOn)
}

// browserBearsAProxys404 lets a proxy answer that nothing is there, as some do while the daemon
// starts: the page stays, and goes on afterwards.
func browserBearsAProxys404(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t)
	var isAway atomic.Bool
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isAway.Load() {
			http.NotFound(w, r)
			return
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	defer home.Close()
	defer home.CloseClientConnections()
	b := c.Open(t, home.URL)
	b.Allow("404", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING")
	b.Do(chromedp.Navigate(home.URL + "/meetings/" + itoa(s.ids[0])))
	b.Do(chromedp.Evaluate[chromedp.Void](`{
		window.refused = 0;
		const ask = fetch, later = setTimeout;
		window.setTimeout = (f, ms) => later(f, ms / 20);
		window.fetch = async (...all) => { const answer = await ask(...all); if (answer.status === 404) refused++; return answer; }; }`))
	isAway.Store(true)
	home.CloseClientConnections()
	b.WaitFor(`window.refused > 2`)
	b.Do(chromedp.Click(chromedp.CSS(".addnote summary")), chromedp.SendKeys(chromedp.CSS(".addnote textarea"), "The walrus hid."), chromedp.Click(chromedp.CSS(".addnote button")))
	b.WaitFor(`document.querySelector(".addnote .unanswered")?.role === "alert"`)
	isAway.Store(false)
	b.Do(chromedp.Click(chromedp.CSS(".addnote button")))
	b.WaitFor(`document.querySelector(".notes .text p")?.textContent === "The walrus hid." && window.refused > 2`)
}
