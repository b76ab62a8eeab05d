package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"
	"time"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// issuerSite is a site at which people sign in at a provider that the test speaks for.
type issuerSite struct {
	*entrySite
	test     *testing.T
	provider *issuer
}

func newIssuerSite(t *testing.T) *issuerSite {
	t.Helper()
	s := &issuerSite{test: t, provider: newIssuer(t)}
	s.entrySite = newEntrySite(t, func(e *Entry) {
		e.OIDC = &OIDC{Issuer: s.provider.URL, ClientID: "minutebook", ClientSecret: "secret", Entrance: access.Entrance{Join: access.JoinInvited}}
	})
	s.add("ann@acme.example", true)
	return s
}

// begin begins a sign-in and returns the address at the provider.
func (s *issuerSite) begin() *url.URL {
	s.t.Helper()
	resp, _ := s.do("GET", "/login/oidc", nil)
	to, err := resp.Location()
	must(s.test, err)
	return to
}

// finish answers the sign-in that began with an address, as the provider does for Ann.
func (s *issuerSite) finish(want int, what string, began *url.URL, more string) {
	s.t.Helper()
	now := *s.now.Load()
	s.provider.idToken = sign(s.test, "RS256", map[string]any{"iss": s.provider.URL, "sub": "1", "aud": "minutebook", "nonce": began.Query().Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "email": "ann@acme.example", "email_verified": true}, signer(s.test, s.provider.key))
	resp, _ := s.do("GET", "/login/oidc/callback?code=x&state="+url.QueryEscape(began.Query().Get("state"))+more, nil)
	if resp.StatusCode != want {
		s.t.Errorf("%s: %s, want %d", what, resp.Status, want)
	}
}

// TestASignInAtAProviderEnds comes back from the provider at the end of the time for that,
// with a browser that keeps its cookies for longer.
func TestASignInAtAProviderEnds(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newIssuerSite(t)
	for after, want := range map[time.Duration]int{0: 303, oidcWait - time.Second: 303, oidcWait: 403, oidcWait + time.Second: 403, -oidcSlack: 303, -oidcSlack - time.Second: 403} {
		began := s.begin()
		kept := s.Jar.Cookies(s.home())
		s.Client = newBrowser(t)
		s.Jar.SetCookies(s.home(), kept)
		s.move(after)
		s.finish(want, "after "+after.String(), began, "")
		s.move(-after)
	}
}

// TestAProviderNamesItself answers for a provider that says that it names itself, and for
// another one.
func TestAProviderNamesItself(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newIssuerSite(t)
	own, other := "&iss="+url.QueryEscape(s.provider.URL), "&iss=https%3A%2F%2Fevil.example"
	for _, names := range []bool{false, true} {
		s.provider.discovery = map[string]any{"authorization_response_iss_parameter_supported": names}
		s.move(discoveryLife)
		for more, in := range map[string]bool{"": !names, own: true, other: false, own + other: false, "&iss=": false} {
			want := http.StatusForbidden
			if in {
				want = http.StatusSeeOther
			}
			s.finish(want, more, s.begin(), more)
		}
	}
}

// TestAProviderMoves has the provider publish other addresses while the daemon runs.
func TestAProviderMoves(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newIssuerSite(t)
	s.finish(303, "at first", s.begin(), "")
	s.provider.discovery = map[string]any{"authorization_endpoint": s.provider.URL + "/moved", "token_endpoint": s.provider.URL + "/moved/token"}
	s.move(discoveryLife - time.Second)
	if to := s.begin(); to.Path != "/a" {
		t.Errorf("a moment later the provider is at %s", to.Path)
	}
	s.move(time.Second)
	began := s.begin()
	if began.Path != "/moved" {
		t.Errorf("after it has moved the provider is at %s", began.Path)
	}
	s.finish(303, "after it has moved", began, "")
	s.provider.discovery = map[string]any{"issuer": "https://evil.example"}
	s.move(discoveryLife)
	s.wants(502, "GET", "/login/oidc", nil, "does not answer")
	s.provider.Close()
	s.wants(502, "GET", "/login/oidc", nil, "does not answer")
	s.Client = newBrowser(t)
	s.wants(303, "GET", "/login/oidc?silent=1&next=/status", nil, "/login?next=%2Fstatus")
}

// TestALinkEndsNoSession follows the address of silent sign-ins as a signed-in person, as the
// link of another site has a browser do.
func TestALinkEndsNoSession(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newIssuerSite(t)
	s.signIn("bob@acme.example", false)
	before := s.Jar.Cookies(s.home())
	s.wants(303, "GET", "/login/oidc?silent=1&next=/status", nil, "/status")
	if after := s.Jar.Cookies(s.home()); !reflect.DeepEqual(before, after) {
		t.Errorf("the link has left the cookies %v, not %v", after, before)
	}
}

// TestSessionsOfAWayThatIsClosedEnd takes a way to sign in out of the configuration, under
// which somebody is signed in.
func TestSessionsOfAWayThatIsClosedEnd(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newIssuerSite(t)
	s.finish(303, "by the provider", s.begin(), "")
	byProvider := s.Client
	s.Client = newBrowser(t)
	s.signIn("bob@acme.example", false)
	byPassword := s.Client
	for _, c := range []struct {
		name               string
		change             func(*Entry)
		provider, password int
	}{
		{"both", func(*Entry) {}, 200, 200},
		{"the provider alone", func(e *Entry) { e.Passwords = false }, 200, 401},
		{"passwords alone", func(e *Entry) { e.OIDC = nil }, 401, 200},
	} {
		o := s.options()
		o.Identify, o.Entry = nil, Entry{People: s.people, PublicURL: s.home(), Passwords: true, OIDC: &OIDC{Issuer: s.provider.URL}}
		c.change(&o.Entry)
		page, err := New(o)
		must(t, err)
		for _, b := range []struct {
			*http.Client
			want int
		}{{byProvider, c.provider}, {byPassword, c.password}} {
			r := httptest.NewRequest(http.MethodGet, s.URL+"/api/v1/me", nil)
			for _, cookie := range b.Jar.Cookies(s.home()) {
				r.AddCookie(cookie)
			}
			w := httptest.NewRecorder()
			if page.ServeHTTP(w, r); w.Code != b.want {
				t.Errorf("with %s: %d, want %d", c.name, w.Code, b.want)
			}
		}
	}
}
