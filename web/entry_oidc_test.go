package web

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/internal/oidctest"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// oidcSite is a site at which people sign in at a real provider.
type oidcSite struct {
	*entrySite
	provider *oidctest.Provider
	log      bytes.Buffer
}

func newOIDCSite(t *testing.T, inUserInfo bool, change func(*OIDC)) *oidcSite {
	t.Helper()
	s := &oidcSite{}
	s.entrySite = newEntrySiteWith(t, access.Options{}, func(o *Options) {
		o.Logger = zerolog.New(zerolog.SyncWriter(&s.log))
		e := &o.Entry
		s.provider = oidctest.Start(t, e.PublicURL.JoinPath("login/oidc/callback").String(), inUserInfo)
		e.OIDC = &OIDC{Issuer: s.provider.Issuer, ClientID: s.provider.ClientID, ClientSecret: s.provider.ClientSecret,
			Entrance: access.Entrance{Join: access.JoinInvited}}
		if change != nil {
			change(e.OIDC)
		}
		e.Passwords = false
	})
	now := time.Now() // the provider's clock, which does not move
	s.now.Store(&now)
	return s
}

// follow follows the redirects from an address, as a browser does, and pages that lead on by
// themselves, and returns the answer that is neither.
func (s *oidcSite) follow(address string) (*http.Response, string) {
	s.t.Helper()
	for range 12 {
		resp, body := s.do("GET", address, nil)
		next, err := resp.Location()
		if _, again, leads := strings.Cut(resp.Header.Get("Refresh"), "0;url="); leads {
			next, err = resp.Request.URL.Parse(again)
		}
		if err != nil {
			return resp, body
		}
		address = next.String()
	}
	s.t.Fatalf("too many redirects, the last to %s", address)
	return nil, ""
}

// wantsIn fails unless following an address ends at a page of the archive, or outside.
func (s *oidcSite) wantsIn(what, address string, in bool) {
	s.t.Helper()
	resp, body := s.follow(address)
	if got := resp.StatusCode == 200 && strings.Contains(body, `href="/me"`); got != in {
		s.t.Errorf("%s: %s, signed in: %v, want %v", what, resp.Status, got, in)
	}
}

var ann = oidctest.Person{"sub": "1001", "email": "ann@acme.example", "email_verified": true, "name": "Ann"}

func (s *oidcSite) signInAs(base oidctest.Person, changes ...any) {
	p := oidctest.Person{}
	for k, v := range base {
		p[k] = v
	}
	for i := 0; i+1 < len(changes); i += 2 {
		p[changes[i].(string)] = changes[i+1]
		if changes[i+1] == nil {
			delete(p, changes[i].(string))
		}
	}
	s.provider.Seat(p)
}

func TestPeopleSignInAtAProvider(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, inUserInfo := range []bool{false, true} {
		s := newOIDCSite(t, inUserInfo, nil)
		s.add("ann@acme.example", true)
		s.signInAs(ann)
		s.wants(303, "GET", "/status", nil, "/login?next=%2Fstatus")
		s.wants(200, "GET", "/login?next=%2Fstatus", nil, `"/login/oidc?next=%2Fstatus"`)
		s.wantsIn("an invited person", "/login/oidc?next=%2Fstatus", true)

		s.Client = newBrowser(t)
		s.signInAs(ann, "sub", "1002", "email", "bob@acme.example")
		s.wantsIn("who was not invited", "/login/oidc", false)
		s.signInAs(ann, "sub", "1003")
		s.Client = newBrowser(t)
		s.wantsIn("another subject with the same address", "/login/oidc", false)
	}
}

// TestWhoMayNotComeIn signs in with claims that do not suffice. The page gives no
// reason.
func TestWhoMayNotComeIn(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newOIDCSite(t, false, func(o *OIDC) {
		o.Entrance = access.Entrance{Join: access.JoinDomain, Domains: []string{"acme.example"}, Admins: true}
		o.AdminGroup = "minutebook-admins"
	})
	s.add("admin@acme.example", true)
	reasons := map[string]string{"an unverified address": "has not verified", "an address of which nothing is known": "has not verified", "another domain": "allowed_domains",
		"a domain that ends alike": "allowed_domains", "no address": `there is no \"email\"`, "no groups": `sends no \"groups\"`}
	groups, bodies := []string{"all"}, map[string]bool{}
	for what, change := range map[string][]any{
		"an unverified address":                {"email_verified", false},
		"an address of which nothing is known": {"email_verified", nil},
		"another domain":                       {"email", "ann@other.example"},
		"a domain that ends alike":             {"email", "ann@evilacme.example"},
		"no address":                           {"email", nil},
		"no groups":                            {"groups", nil},
	} {
		s.Client = newBrowser(t)
		s.signInAs(ann, append([]any{"groups", groups}, change...)...)
		resp, body := s.follow("/login/oidc")
		if resp.StatusCode != 403 || !strings.Contains(body, "You could not be signed in. An admin of this archive finds the reason in its log.") {
			t.Errorf("%s: %s", what, resp.Status)
		}
		bodies[body] = true
		if !strings.Contains(s.log.String(), reasons[what]) {
			t.Errorf("%s: the log does not say why: %s", what, s.log.String())
		}
		s.log.Reset()
	}
	if len(bodies) != 1 {
		t.Errorf("%d different pages tell people apart who may not come in", len(bodies))
	}
	s.Client = newBrowser(t)
	s.signInAs(ann, "groups", []string{"all", "minutebook-admins"})
	s.wantsIn("everyone of the domain", "/login/oidc", true)
	s.wants(200, "GET", "/admin/people", nil)
	s.Client = newBrowser(t)
	s.signInAs(ann, "groups", groups)
	s.wantsIn("the same without the group", "/login/oidc", true)
	s.wants(404, "GET", "/admin/people", nil)
}

// TestTrustCoversSilenceAlone signs in at a provider of one's own organisation: its word
// that an address is not verified counts all the same.
func TestTrustCoversSilenceAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newOIDCSite(t, false, func(o *OIDC) { o.TrustEmail = true })
	s.add("ann@acme.example", true)
	s.signInAs(ann, "email_verified", false)
	s.wantsIn("an unverified address", "/login/oidc", false)
	s.signInAs(ann, "email_verified", nil)
	s.wantsIn("an address of which nothing is said", "/login/oidc", true)
}

// TestWhoLeftTheProviderIsOut moves the clock by a day: the provider is asked again
// without a word to the person, and who is not known there any more stays outside.
func TestWhoLeftTheProviderIsOut(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newOIDCSite(t, false, nil)
	s.add("ann@acme.example", true)
	s.signInAs(ann)
	s.wantsIn("the first time", "/login/oidc", true)
	day := access.OIDCLife + time.Minute
	s.move(day)
	s.wants(401, "GET", "/api/v1/meetings", nil)
	s.wants(401, "GET", "/status", nil, "Signing in again", `href="/login/oidc?next=%2Fstatus&amp;silent=1"`)
	resp, _ := s.do("GET", "/login/oidc?silent=1", nil)
	if to, err := resp.Location(); err != nil || to.Query().Get("prompt") != "none" {
		t.Errorf("the provider is not told to ask the person nothing: %v, %v", to, err)
	}
	s.move(-day) // the provider's clock did not move, and its tokens are of now
	before, err := s.people.Sessions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.people.EndSession(t.Context(), access.ActorCommand, 1, before[0].ID)) // as the day has
	s.wantsIn("a day later", "/login/oidc?silent=1", true)
	if after, err := s.people.Sessions(t.Context(), 1); err != nil || len(after) != len(before) || after[0].ID == before[0].ID {
		t.Errorf("sessions %v, %v; want one in place of %v", after, err, before)
	}
	s.provider.Seat(nil)
	s.move(day)
	s.wantsIn("who left", "/login/oidc?silent=1&next=/status", false)
	s.wants(303, "GET", "/status", nil, "/login?next=%2Fstatus") // and asks the provider no more by itself
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == access.SignInFailed {
			t.Error("that the provider wants to ask the person counts as a failed sign-in")
		}
	}
}

// TestSeveralTabsSignInAtOnce lets the tabs of a browser, which opens all of them again
// in the morning, begin to sign in before any of them has come back.
func TestSeveralTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	s := newOIDCSite(t, false, nil)
	s.add("ann@acme.example", true)
	s.signInAs(ann)
	s.wantsIn("the first time", "/login/oidc", true)
	s.wants(303, "POST", "/logout", url.Values{}, "/login")
	var tabs []string
	for _, page := range []string{"/status", "/actions", "/help"} {
		resp, _ := s.do("GET", "/login/oidc?silent=1&next="+page, nil)
		tabs = append(tabs, resp.Header.Get("Location"))
	}
	for _, tab := range tabs {
		s.wantsIn("a tab", tab, true)
	}
	home, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if left := len(s.Jar.Cookies(home)); left != 1 {
		t.Errorf("%d cookies beside the session's are left of sign-ins that came back", left-1)
	}
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == access.SignInFailed {
			t.Error("a tab counts as a failed sign-in")
		}
	}
	for range 3 * maxAttempts {
		s.do("GET", "/login/oidc", nil)
	}
	if n := len(s.Jar.Cookies(home)); n > maxAttempts+2 {
		t.Errorf("%d cookies of sign-ins that nobody finished", n)
	}
}

func TestTheDirectoryDecidesWhoJoins(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newOIDCSite(t, false, func(o *OIDC) { o.Entrance.Join = access.JoinDirectory })
	s.add("admin@acme.example", true)
	put := func(status string) {
		t.Helper()
		if err := s.archive.PutUsers(t.Context(), "acme", []api.User{{Email: "ann@acme.example", Status: status}}); err != nil {
			t.Fatal(err)
		}
	}
	s.signInAs(ann)
	s.wantsIn("whom the directory does not list", "/login/oidc", false)
	put("invited")
	s.wantsIn("who is only invited there", "/login/oidc", false)
	put(api.StatusActive)
	s.wantsIn("who is active there", "/login/oidc", true)
	put(api.StatusDeactivated)
	s.wantsIn("who is deactivated there", "/", false)
	s.wantsIn("who is deactivated there and asks again", "/login/oidc", false)
}

// TestAnswersOfOthersAreRefused gives the callback the answers of another sign-in and of
// an attacker.
func TestAnswersOfOthersAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newOIDCSite(t, false, nil)
	s.add("ann@acme.example", true)
	s.signInAs(ann)
	s.wants(403, "GET", "/login/oidc/callback?code=x&state=y", nil)
	resp, _ := s.do("GET", "/login/oidc", nil)
	to, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	q := to.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" || q.Get("prompt") != "" {
		t.Errorf("the provider is asked with %v", q)
	}
	s.wants(403, "GET", "/login/oidc/callback?code=x&state=other", nil)
	for _, params := range []string{"error=access_denied", "code=x&iss=https%3A%2F%2Fevil.example", "code=x"} {
		s.do("GET", "/login/oidc", nil) // with a state of its own
		cookie := s.Jar.Cookies(&url.URL{Scheme: "http", Host: "localhost", Path: "/"})
		if len(cookie) == 0 {
			t.Fatal("no sign-in is under way")
		}
		resp, _ := s.do("GET", "/login/oidc", nil)
		to, err := resp.Location()
		if err != nil {
			t.Fatal(err)
		}
		s.wants(403, "GET", "/login/oidc/callback?"+params+"&state="+url.QueryEscape(to.Query().Get("state")), nil, "You could not be signed in")
	}
	s.move(time.Hour) // the clocks differ
	s.wantsIn("with clocks that differ", "/login/oidc", false)
	s.move(-time.Hour)
	s.provider.RotateKeys()
	s.wantsIn("after new keys", "/login/oidc", true)
}

func TestAProviderThatIsAwayIsNamed(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, func(e *Entry) {
		e.OIDC = &OIDC{Issuer: "http://127.0.0.1:1", ClientID: "x", ClientSecret: "y"}
	})
	s.signIn("ann@acme.example", true)
	s.wants(502, "GET", "/login/oidc", nil, "The sign-in service does not answer")
}

// TestSilenceHidesNothing asks the provider silently, as anybody's link can.
func TestSilenceHidesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newOIDCSite(t, false, nil)
	s.add("ann@acme.example", true)
	s.signInAs(ann, "sub", "1002", "email", "eve@acme.example")
	s.wantsIn("who was not invited", "/login/oidc", false)
	s.wantsIn("the same, silently", "/login/oidc?silent=1", false)
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, e := range events {
		if e.Kind == access.SignInFailed {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("2 failures have left %d rows", failed)
	}
	s.Client = newBrowser(t)
	s.signInAs(ann)
	s.wantsIn("who was invited", "/login/oidc", true)
	s.provider.Seat(nil)
	s.follow("/login/oidc?silent=1")
	s.wants(200, "GET", "/me", nil) // a link of another site has signed nobody out
}
