package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
	"minutebook/sample"
	"minutebook/service"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// connectable is a site at which people connect their accounts of a real service.
type connectable struct {
	*entrySite
	upstream *service.Service
	app      service.App
	owner    string // of the meetings at the service
	during   func() // is called before the service answers, when it is set
}

const accountRedirect = "https://minutes.example" + accounts.RedirectPath

func newConnectable(t *testing.T) *connectable {
	t.Helper()
	c := &connectable{}
	ctx := t.Context()
	up, err := archive.Open(ctx, archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { up.Close() })
	c.upstream, err = service.New(ctx, service.Options{Archive: up, Sandbox: true, Now: time.Now, Logger: zerolog.Nop()})
	must(t, err)
	_, err = c.upstream.Load(ctx, sample.NDJSON(sample.Base()), "sample")
	must(t, err)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.during != nil {
			c.during()
		}
		c.upstream.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	app, secret, err := c.upstream.CreateApp(ctx, "minutebook", []string{accountRedirect}, false)
	must(t, err)
	c.app = app
	c.entrySite = newEntrySiteWith(t, access.Options{AccountKeys: [][]byte{bytes.Repeat([]byte{1}, access.AccountKeySize)}}, func(o *Options) {
		connector, err := accounts.New(accounts.Options{People: o.Entry.People, BaseURL: srv.URL + "/external/v1", Logger: zerolog.Nop(),
			App: &accounts.App{ClientID: app.ClientID, ClientSecret: secret, RedirectURL: accountRedirect}})
		must(t, err)
		o.Accounts = connector
	})
	row, err := c.archive.VisibleRow(ctx, owner().Viewer, c.ids[0])
	must(t, err)
	c.owner = row.RecordedBy.Email
	return c
}

// TestAConnectionBelongsToItsSession connects an account through the app: the redirect
// counts in the session that began it, once and in time.
func TestAConnectionBelongsToItsSession(t *testing.T) {
	t.Parallel()
	c := newConnectable(t)
	c.signIn("boss@acme.example", true)
	boss := c.Client
	c.Client = newBrowser(t)
	person := c.signIn(c.owner, false)
	begin := func() url.Values {
		t.Helper()
		resp, _ := c.do(http.MethodGet, "/me/account/app", nil)
		to, err := resp.Location()
		must(t, err)
		code, err := c.upstream.AuthorizeApp(t.Context(), c.app.ClientID, c.owner, to.Query().Get("redirect_uri"))
		must(t, err)
		return url.Values{"state": {to.Query().Get("state")}, "code": {code}}
	}
	back := func(answer url.Values, status int, says string) {
		t.Helper()
		c.wants(status, http.MethodGet, accounts.RedirectPath+"?"+answer.Encode(), nil, says)
	}
	answer := begin()
	mine := c.Client
	c.Client = boss
	back(answer, http.StatusUnprocessableEntity, "not begun here")
	c.Client = mine
	back(url.Values{"state": {"x"}, "code": {"y"}}, http.StatusUnprocessableEntity, "not begun here")
	back(url.Values{"state": {""}, "code": {"y"}}, http.StatusUnprocessableEntity, "not begun here")
	answer = begin()
	c.Client = newBrowser(t) // the same person's, where another session begins
	c.wants(http.StatusSeeOther, http.MethodPost, "/login", url.Values{"address": {c.owner}, "password": {goodPassword}})
	back(answer, http.StatusUnprocessableEntity, "not begun here")
	c.Client = mine
	late := begin()

	later := c.now.Load().Add(connectionWait)
	c.now.Store(&later)
	back(late, http.StatusUnprocessableEntity, "took too long")
	answer = begin()
	back(answer, http.StatusOK, "Your account is connected")
	back(answer, http.StatusUnprocessableEntity, "not begun here")
	page := c.wants(http.StatusOK, http.MethodGet, "/me", nil, "by the app")
	if strings.Contains(page, answer.Get("code")) {
		t.Error("the page has the code")
	}
	c.Client = boss
	c.wants(http.StatusOK, http.MethodGet, "/admin/people", nil, "own account connected")
	c.Client = mine
	c.wants(http.StatusSeeOther, http.MethodPost, "/me/account/end", url.Values{})
	if _, err := c.people.AccountOf(t.Context(), "", person.ID); err != access.ErrNoAccount {
		t.Errorf("disconnected: %v", err)
	}
}

// TestAConnectionBelongsToItsPerson finishes connections where a proxy signs people in, and
// nobody has a session.
func TestAConnectionBelongsToItsPerson(t *testing.T) {
	testrun.SkipUnderRace(t)
	var c connections
	c.begin(at, connection{state: "s", person: 1})
	for _, answer := range []connection{{state: "s", person: 2}, {state: "t", person: 1}, {state: "s", person: 1, session: 3}} {
		if c.take(at, answer) {
			t.Errorf("%+v finishes another's connection", answer)
		}
	}
	if !c.take(at, connection{state: "s", person: 1}) {
		t.Error("who has begun it does not finish it")
	}

	c.begin(at, connection{state: "ann's", person: 1})
	for i := range 2 * maxConnections {
		c.begin(at, connection{state: fmt.Sprint("bob's ", i), person: 2})
	}
	if !c.take(at, connection{state: "ann's", person: 1}) {
		t.Error("somebody who begins many keeps another from finishing")
	}
	if last := fmt.Sprint("bob's ", 2*maxConnections-1); c.take(at, connection{state: "bob's 0", person: 2}) || !c.take(at, connection{state: last, person: 2}) || len(c.open) != maxConnections-1 {
		t.Errorf("bob's: %d are under way", len(c.open))
	}
}

// TestAKeyIsNeverShown connects an account by its key and looks for the key in all pages
// that tell of it.
func TestAKeyIsNeverShown(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	c := newConnectable(t)
	c.signIn(c.owner, true)
	key, err := c.upstream.CreateKey(t.Context(), c.owner)
	must(t, err)
	for i, page := range []string{
		c.wants(http.StatusUnprocessableEntity, http.MethodPost, "/me/account/key", url.Values{"key": {key + "x"}}, "refuses it"),
		c.wants(http.StatusOK, http.MethodPost, "/me/account/key", url.Values{"key": {key}}, "Your account is connected"),
		c.wants(http.StatusOK, http.MethodGet, "/me", nil, "by an API key"),
		c.wants(http.StatusOK, http.MethodGet, "/admin/people", nil, "own account connected"),
		c.wants(http.StatusOK, http.MethodGet, "/admin/audit", nil, "account.connected", "account.refused"),
	} {
		if strings.Contains(page, key) {
			t.Errorf("page %d shows the key", i)
		}
	}
}

// TestWhoIsSignedOutConnectsNothing ends the session of a person while the account is tried
// at the service, as after a theft.
func TestWhoIsSignedOutConnectsNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	c := newConnectable(t)
	person := c.signIn(c.owner, true)
	key, err := c.upstream.CreateKey(t.Context(), c.owner)
	must(t, err)
	c.during = func() {
		if _, err := c.people.EndSessions(t.Context(), access.ActorCommand, person.ID); err != nil {
			t.Error(err)
		}
	}
	c.wants(http.StatusUnauthorized, http.MethodPost, "/me/account/key", url.Values{"key": {key}})
	if a, err := c.people.AccountOf(t.Context(), "", person.ID); err != access.ErrNoAccount {
		t.Errorf("connected: %+v, %v", a, err)
	}
}

// TestAnAdminLearnsWhatIsMissing looks at the pages of a site without a key for accounts.
func TestAnAdminLearnsWhatIsMissing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	s.signIn("boss@acme.example", true)
	s.wants(http.StatusOK, http.MethodGet, "/me", nil, "[web.accounts]")
	s.Client = newBrowser(t)
	s.signIn("ann@acme.example", false)
	if page := s.wants(http.StatusOK, http.MethodGet, "/me", nil); strings.Contains(page, "web.accounts") {
		t.Error("a member is told of the configuration")
	}
	s.wants(http.StatusNotFound, http.MethodPost, "/me/account/key", url.Values{"key": {"x"}})
	s.wants(http.StatusNotFound, http.MethodGet, "/me/account/app", nil)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
