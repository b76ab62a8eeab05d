package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// TestTheFirstAccountHasAnOwner adds the first account: the form proposes the admin's address,
// and the account is kept with the one that was sent.
func TestTheFirstAccountHasAnOwner(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[],"next_cursor":null}`)
	}))
	t.Cleanup(service.Close)
	var added []accounts.Trial
	var names []string
	var refused error
	s := newEntrySiteWith(t, access.Options{}, func(o *Options) {
		o.Setup = &Setup{Accounts: func() []string { return names }, Add: func(_ context.Context, _ string, trial accounts.Trial) error {
			if refused != nil {
				names = []string{"main"} // by another admin
				return refused
			}
			added = append(added, trial)
			return nil
		}}
	})
	s.signIn("boss@acme.example", true)
	s.wants(http.StatusOK, "GET", "/setup", nil, `name="email" value="boss@acme.example"`)
	form := url.Values{"address": {service.URL}, "key": {""}, "email": {"ann@acme.example"}}
	s.wants(http.StatusUnprocessableEntity, "POST", "/setup/account", form, `name="email" value="ann@acme.example"`)
	form.Set("key", "key-of-ann")
	s.wants(http.StatusSeeOther, "POST", "/setup/account", form, "/setup")
	if len(added) != 1 || added[0].Email != "ann@acme.example" || added[0].Key != "key-of-ann" {
		t.Errorf("added: %+v", added)
	}
	refused = errors.New("it was added before")
	s.wants(http.StatusConflict, "POST", "/setup/account", form, "This archive has an account.")
}

// browserStaysAtItsOwnAddress tests the webhook at the first run: the page that answers the form
// goes on with the archive, and sends the form once, however often it is loaded.
func browserStaysAtItsOwnAddress(t *testing.T, c *browsertest.Chromium) {
	s := newSite(t, meeting(1, "One", "2026-06-10T09:00:00Z", ""))
	var tried atomic.Int32
	s.server.Setup = &Setup{Accounts: func() []string { return []string{"acme"} }, ReceiverURL: "https://minutes.example/in",
		TryWebhook: func(context.Context, string) (int64, error) { tried.Add(1); return 12, nil }}
	tell := func(a syncer.AccountStatus) {
		a.Name = "acme"
		s.status = &syncer.Status{Accounts: []syncer.AccountStatus{a}}
	}
	tell(syncer.AccountStatus{})
	b := c.Open(t, s.URL)
	b.Do(chromedp.Navigate(s.URL+"/setup"), chromedp.Click(chromedp.CSS(`[action="/setup/webhook"] button`)))
	b.WaitFor(`document.querySelector("main").textContent.includes("A signed delivery went out")`)
	for i := 0; i < 40 && !browsertest.Evaluate[bool](b, `document.querySelector("[data-live]").textContent.includes("refuses")`); i++ { // the first event is compared with nothing
		tell(syncer.AccountStatus{Suspended: "a walrus refuses" + strings.Repeat("!", i)})
		time.Sleep(500 * time.Millisecond)
	}
	b.WaitFor(`location.pathname === "/setup" && document.querySelector("[data-live]").textContent.includes("refuses")`)
	takePicture(t, b, "setup-tried")
	b.Do(chromedp.Evaluate[chromedp.Void](`window.before = true, location.reload()`))
	b.WaitFor(`!window.before && location.pathname === "/setup" && document.querySelector("main").textContent.includes("refuses")`)
	if n := tried.Load(); n != 1 {
		t.Errorf("the webhook was tried %d times", n)
	}
}
