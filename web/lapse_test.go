package web

import (
	"net/http"
	"net/netip"
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
