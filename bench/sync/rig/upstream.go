package rig

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/service"
)

// BaseURL is where the service is, for whoever has the wire.
const BaseURL = "http://service.test" + service.BasePath

// Upstream is the service, alone as a sandbox, with meetings of Person.
type Upstream struct {
	Archive *archive.Archive
	Service *service.Service
	Wire    *Wire
	Key     string // an API key of Person
}

// NewUpstream starts a service on an empty data directory with the meetings
// given as NDJSON. It lives until the test ends.
func NewUpstream(t testing.TB, opts service.Options, meetings []byte) *Upstream {
	t.Helper()
	ctx := context.Background()
	u := &Upstream{Archive: NewArchive(t, t.TempDir())}
	opts.Archive, opts.Sandbox, opts.PublicURL = u.Archive, true, "http://service.test"
	opts.Logger = zerolog.Nop()
	var err error
	if u.Service, err = service.New(ctx, opts); err != nil {
		t.Fatal(err)
	}
	archivetest.KeepOpen(u.Archive) // and service.db
	if _, err := u.Service.Load(ctx, bytes.NewReader(meetings), "meetings"); err != nil {
		t.Fatal(err)
	}
	if u.Key, err = u.Service.CreateKey(ctx, Person); err != nil {
		t.Fatal(err)
	}
	u.Wire = &Wire{Handler: u.Service.Handler()}
	return u
}

// NewArchive opens or makes an archive that is closed when the test ends.
func NewArchive(t testing.TB, dir string) *archive.Archive {
	t.Helper()
	ar, err := archive.Open(context.Background(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ar.Close(); err != nil {
			t.Error(err)
		}
	})
	archivetest.KeepOpen(ar)
	return ar
}

// HTTP is a client that calls over the wire.
func (u *Upstream) HTTP() *http.Client { return &http.Client{Transport: u.Wire} }

// Client is a client with the API key, whose budget is kept in an archive.
func (u *Upstream) Client(t testing.TB, keep *archive.Archive) *api.Client {
	t.Helper()
	return u.client(t, api.APIKey(u.Key), api.NewBudget(api.BudgetOptions{Connection: "ada", Store: keep}))
}

func (u *Upstream) client(t testing.TB, cred api.Credential, budget *api.Budget) *api.Client {
	t.Helper()
	c, err := api.NewClient(api.ClientOptions{BaseURL: BaseURL, Credential: cred, HTTP: u.HTTP(), Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// OAuthClient is a client of an OAuth app that Person has connected, whose
// tokens and budget are kept in an archive.
func (u *Upstream) OAuthClient(t testing.TB, keep *archive.Archive) *api.Client {
	t.Helper()
	ctx := context.Background()
	const redirect = "https://minutebook.test/oauth"
	app, secret, err := u.Service.CreateApp(ctx, "minutebook", []string{redirect}, false)
	if err != nil {
		t.Fatal(err)
	}
	code, err := u.Service.AuthorizeApp(ctx, app.ClientID, Person, redirect)
	if err != nil {
		t.Fatal(err)
	}
	budget := api.NewBudget(api.BudgetOptions{Connection: "ada", Store: keep})
	cred, err := api.NewOAuth(api.OAuthOptions{Account: "ada", BaseURL: BaseURL, ClientID: app.ClientID,
		ClientSecret: secret, RedirectURL: redirect, Store: keep, HTTP: u.HTTP(), Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	if err := cred.Exchange(ctx, code); err != nil {
		t.Fatal(err)
	}
	return u.client(t, cred, budget)
}

// Today moves a bubble's clock, which begins in the year 2000, to a day on which
// the meetings of Meetings can lie in the past.
func Today() time.Time {
	day := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	if wait := time.Until(day); wait > 0 {
		time.Sleep(wait)
	}
	return day
}
