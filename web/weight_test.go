package web

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"minutebook/api"
	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
)

// TestLongMeetingIsLight loads a meeting of 5,000 entries, of words in an order by chance:
// repeated sentences would be compressed too well.
func TestLongMeetingIsLight(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	_, text := s.get("/meetings/" + itoa(s.ids[0]) + "/transcript.txt")
	vocabulary, chance := strings.Fields(text), rand.New(rand.NewPCG(1, 1))
	var entries []string
	for i := range 5000 {
		words := make([]string, 5+chance.IntN(15))
		for k := range words {
			words[k] = vocabulary[chance.IntN(len(vocabulary))]
		}
		entries = append(entries, fmt.Sprintf(`{"speaker":{"display_name":"Speaker %d"},"text":%q,"timestamp":%q}`,
			chance.IntN(4), strings.Join(words, " "), api.FormatOffset(time.Duration(i)*2*time.Second)))
	}
	s.apply(meeting(1, "A long meeting", "2026-06-30T08:00:00Z", `"transcript":[`+strings.Join(entries, ",")+`]`))
	resp, body := s.get("/meetings/1?q=we", "Accept-Encoding", "gzip")
	t.Logf("%d bytes", len(body))
	if resp.StatusCode != 200 || len(body) > 300_000 {
		t.Errorf("%s with %d bytes, more than 300,000", resp.Status, len(body))
	}
}

// kinds is a site of the owner and one of people who sign in, with a page of every kind.
type kinds struct {
	pages  []kind
	cookie network.SetCookieParams // of a person who is signed in
}

// kind is an address of a kind of page.
type kind struct{ name, home, path string }

// newKinds returns the pages of every kind. All but those of people who sign in are the
// owner's; they search for words.
func newKinds(t testing.TB, owner *site, word, other string) kinds {
	inside := newEntrySite(t, nil)
	owner.server.Setup = &Setup{Accounts: func() []string { return nil }, ReceiverURL: "https://minutes.example/in"}
	var known struct {
		People []struct{ Key string }
	}
	owner.answer(200, "/api/v1/people", &known)
	k := kinds{cookie: network.SetCookieParams{Name: "minutebook", Value: inside.member(t, "ann@acme.example"), URL: inside.URL}}
	for _, page := range [][2]string{{"home", "/"}, {"search", "/?q=" + word}, {"meeting", "/meetings/" + itoa(owner.search(word)) + "?q=" + word},
		{"people", "/people"}, {"person", personAddress(known.People[0].Key)}, {"actions", "/actions"}, {"calendar", "/calendar"}, {"now", "/now"},
		{"trends", "/trends?q=" + word + "&q=" + other}, {"facet", "/facet?field=person&q=" + word}, {"saved", "/saved"}, {"status", "/status"}, {"setup", "/setup"}, {"help", "/help"}} {
		k.pages = append(k.pages, kind{page[0], owner.URL, page[1]})
	}
	k.pages = append(k.pages, kind{"account", inside.URL, "/me"}, kind{"access", inside.URL, "/admin/people"})
	return k
}

// visit has the figures of one visit to a page.
type visit struct {
	paint float64 // milliseconds until the first text or picture was there
	bytes int64   // that came over the wire, with headers
}

// visitor is a window that counts the bytes that it receives.
type visitor struct {
	*browsertest.Browser
	received atomic.Int64
}

// open opens a window of somebody who was never here before.
func (k kinds) open(t testing.TB, c *browsertest.Chromium, page kind) *visitor {
	v := &visitor{Browser: c.Open(t, page.home)}
	err := chromedp.Listen(v.Context, func(e any) {
		if loaded, ok := e.(*network.EventLoadingFinished); ok {
			v.received.Add(int64(loaded.EncodedDataLength))
		}
	})
	if err == nil {
		_, err = chromedp.Call(v.Context, network.SetCookie, k.cookie)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// visit goes to a page: as the first one of the window or from another page that it shows,
// which is no empty one, since a browser begins a new process where an empty page is left for
// ours, as Cross-Origin-Opener-Policy asks.
func (v *visitor) visit(address string) visit {
	v.received.Store(0)
	v.Do(chromedp.Navigate(address))
	v.WaitFor(`document.fonts.status === "loaded" && performance.getEntriesByName("first-contentful-paint").length > 0`)
	paint := browsertest.Evaluate[float64](v.Browser, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	time.Sleep(100 * time.Millisecond) // until the browser has told of the last file
	return visit{paint, v.received.Load()}
}

// anotherThan is a path that leads to the page.
func anotherThan(page kind) string {
	if page.path == "/" {
		return "/help"
	}
	return "/"
}

// browserPagesAreLight adds the bytes that a browser receives of each kind of page: as the
// first one, with fonts, style and scripts, and after another one.
func browserPagesAreLight(t *testing.T, c *browsertest.Chromium) {
	all := newKinds(t, newSite(t), "battery", "permit")
	windows := map[string]*visitor{} // that went from page to page, by site
	for _, page := range all.pages {
		first := all.open(t, c, page).visit(page.home + page.path).bytes
		window := windows[page.home]
		if window == nil {
			window = all.open(t, c, page)
			window.visit(page.home + anotherThan(page))
			windows[page.home] = window
		}
		next := window.visit(page.home + page.path).bytes
		t.Logf("%s: %d bytes as the first page, %d as the next", page.name, first, next)
		if first < 60_000 || first > 100_000 || next > 30_000 {
			t.Errorf("%s takes %d bytes as the first page and %d as the next: more than 100,000 and 30,000, or too few are seen", page.name, first, next)
		}
	}
}

// TestFontsOfAFamilyHaveTheSameWeights reads the style sheet: a browser takes the files
// of one range of weights alone, so that bold letters come from another font where the
// file of rare letters is bolder than the file of all others.
func TestFontsOfAFamilyHaveTheSameWeights(t *testing.T) {
	testrun.SkipUnderRace(t)
	sheet, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string]string{}
	for _, face := range regexp.MustCompile(`@font-face \{ font-family: ([^;]+);.*?font-weight: ([^;]+);`).FindAllStringSubmatch(string(sheet), -1) {
		if first, ok := weights[face[1]]; ok && first != face[2] {
			t.Errorf("%s has files for the weights %s and for %s", face[1], first, face[2])
		}
		weights[face[1]] = face[2]
	}
	if len(weights) != 2 {
		t.Errorf("fonts %v", weights)
	}
}
