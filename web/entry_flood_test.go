package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"golang.org/x/oauth2"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestNobodyKeepsOthersFromPasskeys lets one client begin ceremonies without end.
func TestNobodyKeepsOthersFromPasskeys(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	now := time.Now()
	c := newCeremonies(func() time.Time { return now })
	begin := func(client, challenge string) {
		c.keep(netip.MustParseAddr(client), &webauthn.SessionData{Challenge: challenge})
	}
	begin("192.0.2.1", "of another")
	for i := range 2 * maxAllCeremonies {
		now = now.Add(time.Millisecond)
		begin("2001:db8::"+"123456789"[i%9:i%9+1], strings.Repeat("x", i))
	}
	begin("192.0.2.2", "of a third")
	for i := range maxAllCeremonies + 500 { // somebody has a /56 and more, and begins as many as each of its networks may
		now = now.Add(time.Millisecond)
		begin(fmt.Sprintf("2001:db8:1:%x::1", i/maxCeremonies), fmt.Sprint("flood ", i))
	}
	begin("192.0.2.3", "of a fourth")
	if n := len(c.open); n > maxAllCeremonies {
		t.Errorf("%d ceremonies are open", n)
	}
	for i := range maxAllCeremonies + 500 {
		delete(c.open, fmt.Sprint("flood ", i))
	}
	for _, challenge := range []string{"of another", "of a third", "of a fourth", strings.Repeat("x", 2*maxAllCeremonies-1)} {
		if _, err := c.take(challenge); err != nil {
			t.Errorf("ceremony %.20q: %v", challenge, err)
		}
	}
	if len(c.open) != maxCeremonies-1 {
		t.Errorf("%d ceremonies of one client are open, want %d", len(c.open), maxCeremonies-1)
	}
}

// TestACeremonyEnds takes uses of passkeys at their end, with the clock set back, and twice.
func TestACeremonyEnds(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	started := time.Now()
	for after, open := range map[time.Duration]bool{0: true, ceremonyLife - time.Second: true, ceremonyLife: false, ceremonyLife + time.Second: false,
		-oidcSlack: true, -oidcSlack - time.Second: false} {
		now := started
		c := newCeremonies(func() time.Time { return now })
		c.keep(netip.MustParseAddr("192.0.2.1"), &webauthn.SessionData{Challenge: "x"})
		now = started.Add(after)
		if _, err := c.take("x"); (err == nil) != open {
			t.Errorf("after %v: %v", after, err)
		}
		if _, err := c.take("x"); err == nil {
			t.Errorf("after %v: taken twice", after)
		}
	}
}

// TestFailuresFillNoAudit sends many requests that no browser sends.
func TestFailuresFillNoAudit(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, func(e *Entry) {
		e.OIDC = &OIDC{Issuer: "http://127.0.0.1:1", Entrance: access.Entrance{Join: access.JoinInvited}}
	})
	s.add("ann@acme.example", true)
	failures := func() (n int) {
		events, err := s.people.Events(t.Context(), access.EventQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == access.SignInFailed {
				n++
			}
		}
		return n
	}
	answer := "/login/oidc/callback?state=x&error=" + strings.Repeat("x", 1000)
	for range 30 { // as a page of another site has its visitors send
		s.wants(403, "GET", answer, nil, "This browser has not begun to sign in")
	}
	if n := failures(); n != 0 {
		t.Errorf("answers to no sign-in have left %d rows", n)
	}
	raw, err := json.Marshal(attempt{State: "x", Until: s.now.Load().Add(oidcWait).Unix()})
	must(t, err)
	own := []string{"Cookie", "minutebook-oidc-x=" + base64.RawURLEncoding.EncodeToString(raw)}
	for range 15 {
		s.do("POST", "/login/passkey/finish", url.Values{})
		s.do("GET", answer, nil, own...)
	}
	if n := failures(); n == 0 || n > 20 {
		t.Errorf("30 failures of one client have left %d rows", n)
	}
	s.wants(429, "POST", "/login/passkey/finish", url.Values{}, "Too many tries")
	if resp, _ := s.do("GET", answer, nil, own...); resp.StatusCode != 429 {
		t.Errorf("a browser's own sign-in gets %d after too many tries", resp.StatusCode)
	}
	s.wants(401, "POST", "/login", url.Values{"address": {"x@acme.example"}}) // passwords are limited apart
}

// TestAProviderThatMisbehaves signs in at a provider that answers as none should.
func TestAProviderThatMisbehaves(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen.Add(1) }))
	defer elsewhere.Close()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow/.well-known/openid-configuration":
			asked <- struct{}{}
			<-release
		case "/token":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/endless/token":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}
	}))
	defer provider.Close()
	public, client := &url.URL{Scheme: "http", Host: "localhost"}, newProviderClient()
	exchange := func(path string) error {
		c := oauth2.Config{ClientID: "x", ClientSecret: "secret", Endpoint: oauth2.Endpoint{TokenURL: provider.URL + path, AuthStyle: oauth2.AuthStyleInParams}}
		_, err := c.Exchange(context.WithValue(t.Context(), oauth2.HTTPClient, client), "code")
		return err
	}
	if err := exchange("/token"); err == nil || stolen.Load() != 0 {
		t.Errorf("a token endpoint that redirects: %v, and another host got %d requests", err, stolen.Load())
	}
	resp, err := client.Get(provider.URL + "/endless/token")
	if err != nil {
		t.Fatal(err)
	}
	var tooLarge *http.MaxBytesError
	if _, err := io.Copy(io.Discard, resp.Body); !errors.As(err, &tooLarge) {
		t.Errorf("an endless answer: %v", err)
	}
	resp.Body.Close()

	p := newRelyingParty(OIDC{Issuer: provider.URL + "/slow"}, public, time.Now)
	first := make(chan error)
	go func() {
		_, err := p.find(t.Context())
		first <- err
	}()
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.find(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone waits for the provider: %v", err)
	}
	close(release)
	if err := <-first; err == nil {
		t.Error("an empty answer is a configuration")
	}
}

// TestAProviderThatIsDown leaves the other ways in open.
func TestAProviderThatIsDown(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, func(e *Entry) {
		e.OIDC = &OIDC{Issuer: "http://127.0.0.1:1", Entrance: access.Entrance{Join: access.JoinInvited}}
	})
	s.add("ann@acme.example", true)
	s.wants(502, "GET", "/login/oidc", nil, "does not answer")
	s.wants(303, "GET", "/login/oidc?silent=1&next=/status", nil, "/login?next=%2Fstatus")
	s.wants(200, "GET", "/login?next=%2Fstatus", nil)
}

// TestAttemptsOutliveAConfiguration uses up the attempts of an address and makes the page
// anew, as a reload does.
func TestAttemptsOutliveAConfiguration(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	signIns := NewSignIns(time.Now)
	s := newEntrySiteWith(t, access.Options{}, func(o *Options) { o.SignIns = signIns })
	s.add("ann@acme.example", false)
	for range 30 {
		s.do("POST", "/login", url.Values{"address": {"ann@acme.example"}, "password": {"wrong password"}})
	}
	o := s.options()
	o.Identify, o.Entry, o.SignIns = nil, Entry{People: s.people, PublicURL: s.home(), Passwords: true}, signIns
	page, err := New(o)
	must(t, err)
	r := httptest.NewRequest("POST", s.URL+"/login", strings.NewReader("address=ann@acme.example&password=x"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	if page.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests {
		t.Errorf("after the reload: %d", w.Code)
	}
}
