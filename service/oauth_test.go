package service

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

const redirect = "https://app.example/callback"

// app registers an app.
func (s *sandbox) app(t *testing.T) (id, secret string) {
	t.Helper()
	app, secret, err := s.CreateApp(t.Context(), "Notes", []string{redirect}, false)
	if err != nil {
		t.Fatal(err)
	}
	return app.ClientID, secret
}

// form posts to the token endpoint.
func (s *sandbox) form(pairs ...string) (answer, tokens) {
	s.t.Helper()
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	a := s.call(http.MethodPost, "/oauth2/token", "", v.Encode())
	var t tokens
	if a.status == 200 {
		a.decode(s.t, &t)
	}
	return a, t
}

// connect makes a connection of ann's.
func (s *sandbox) connect(t *testing.T, id, secret string) tokens {
	t.Helper()
	code, err := s.AuthorizeApp(t.Context(), id, "ann@acme.example", redirect)
	if err != nil {
		t.Fatal(err)
	}
	a, tok := s.form("grant_type", "authorization_code", "code", code, "client_id", id, "client_secret", secret, "redirect_uri", redirect)
	if a.status != 200 || tok.ExpiresIn != 86400 || tok.Type != "Bearer" || tok.Refresh == "" {
		t.Fatalf("exchange: %d %s", a.status, a.body)
	}
	return tok
}

func TestAppsUseHTTPSAndOneRedirect(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	for _, c := range []struct {
		uris        []string
		development bool
		ok          bool
	}{
		{[]string{"https://a.example/x"}, false, true},
		{[]string{"https://a.example/x", "https://b.example/"}, false, false},
		{[]string{"https://a.example/x", "https://b.example/"}, true, true},
		{[]string{"http://a.example/"}, true, false},
		{[]string{"http://localhost/"}, true, false},
		{[]string{"https://a.example/#x"}, true, false},
		{nil, true, false},
	} {
		if _, _, err := s.CreateApp(t.Context(), "App", c.uris, c.development); (err == nil) != c.ok {
			t.Errorf("%v, development %v: %v", c.uris, c.development, err)
		}
	}
}

func TestThePageGivesACodeForConsent(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	verifier := strings.Repeat("v", 50)
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{"client_id": {id}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"a&b"}, "scope": {"public_api"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
	form := func(pairs ...string) string {
		v := url.Values{}
		for k, vs := range ask {
			v[k] = vs
		}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v.Encode()
	}
	if a := s.get("/oauth2/authorize?"+ask.Encode(), "", 200); !strings.Contains(string(a.body), "Connect Notes") || a.header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page is %s", a.body)
	}
	for _, bad := range []string{form("client_id", "app_x"), form("redirect_uri", redirect+"/"), form("redirect_uri", "https://evil.example/")} {
		if a := s.get("/oauth2/authorize?"+bad, "", 400); a.header.Get("Location") != "" {
			t.Errorf("sent to %s", a.header.Get("Location"))
		}
	}
	for bad, want := range map[string]string{
		form("response_type", "token"): "unsupported_response_type", form("scope", "everything"): "invalid_scope",
		form("code_challenge_method", "MD5"): "invalid_request",
	} {
		if a := s.get("/oauth2/authorize?"+bad, "", 302); !strings.Contains(a.header.Get("Location"), "error="+want+"&state=a%26b") {
			t.Errorf("sent to %s, want error %s", a.header.Get("Location"), want)
		}
	}
	post := func(pairs ...string) answer {
		req, err := http.NewRequest(http.MethodPost, s.base+"/oauth2/authorize", strings.NewReader(form(pairs...)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return s.do(req)
	}
	if a := post("answer", "deny"); a.status != 302 || !strings.Contains(a.header.Get("Location"), "error=access_denied") {
		t.Errorf("denied: %d %s", a.status, a.header.Get("Location"))
	}
	if a := post("answer", "allow", "api_key", "mbk_wrong"); a.status != 403 || a.header.Get("Location") != "" {
		t.Errorf("wrong key: %d", a.status)
	}
	a := post("answer", "allow", "api_key", s.key("ann@acme.example"))
	to, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.status != 302 || to.Host != "app.example" || to.Query().Get("state") != "a&b" {
		t.Fatalf("allowed: %d %s", a.status, a.header.Get("Location"))
	}
	code := to.Query().Get("code")
	exchange := func(verifier string) answer {
		a, _ := s.form("grant_type", "authorization_code", "code", code, "client_id", id, "client_secret", secret, "redirect_uri", redirect, "code_verifier", verifier)
		return a
	}
	if a := exchange("wrong"); a.status != 400 {
		t.Errorf("wrong verifier: %d", a.status)
	}
	if a := exchange(""); a.status != 400 {
		t.Errorf("no verifier: %d", a.status)
	}
	if a := exchange(verifier); a.status != 200 {
		t.Errorf("right verifier: %d %s", a.status, a.body)
	}
}

func TestCodesAreUsedOnceAndBoundToTheirApp(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	otherID, otherSecret := s.app(t)
	code, err := s.AuthorizeApp(t.Context(), id, "ann@acme.example", redirect)
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(id, secret, uri string) (answer, tokens) {
		return s.form("grant_type", "authorization_code", "code", code, "client_id", id, "client_secret", secret, "redirect_uri", uri)
	}
	for name, c := range map[string]struct {
		id, secret, uri string
		want            int
	}{"another app": {otherID, otherSecret, redirect, 400}, "wrong secret": {id, otherSecret, redirect, 401},
		"another address": {id, secret, redirect + "x", 400}, "unknown app": {"app_x", secret, redirect, 401}} {
		if a, _ := exchange(c.id, c.secret, c.uri); a.status != c.want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	_, tok := exchange(id, secret, redirect)
	s.get("/teams", tok.Access, 200)
	if a, _ := exchange(id, secret, redirect); a.status != 400 {
		t.Errorf("used again: %d", a.status)
	}
	s.get("/teams", tok.Access, 401) // a code seen twice was stolen: its tokens are void
	code, _ = s.AuthorizeApp(t.Context(), id, "ann@acme.example", redirect)
	s.clock.add(codeLife)
	if a, _ := exchange(id, secret, redirect); a.status != 400 {
		t.Errorf("after its time: %d", a.status)
	}
}

func TestOfTwoRefreshesExactlyOneWins(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	s := newSandbox(t, Options{Archive: a, Sandbox: true}, meeting(1))
	id, secret := s.app(t)
	tok := s.connect(t, id, secret)
	for round := range 8 {
		var wg sync.WaitGroup
		won := make(chan tokens, 4)
		for range 4 {
			wg.Go(func() {
				a, next := s.form("grant_type", "refresh_token", "refresh_token", tok.Refresh, "client_id", id, "client_secret", secret)
				if a.status == 200 {
					won <- next
				} else if a.status != 400 {
					t.Errorf("a loser is answered %d %s", a.status, a.body)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("round %d: %d won", round, len(won))
		}
		old := tok
		tok = <-won
		s.get("/teams", tok.Access, 200)
		s.get("/teams", old.Access, 200) // not refreshed away, only the refresh token is
		s.clock.add(time.Minute)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	// After a crash between the commit and the answer the used token stays used.
	s = newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true})
	refresh := func(token string) int {
		a, _ := s.form("grant_type", "refresh_token", "refresh_token", token, "client_id", id, "client_secret", secret)
		return a.status
	}
	if got := refresh(tok.Refresh); got != 200 {
		t.Errorf("after a restart: %d", got)
	}
	if got := refresh(tok.Refresh); got != 400 {
		t.Errorf("again: %d", got)
	}
}

func TestTokensLapseAndAreLimitedByConnection(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	tok := s.connect(t, id, secret)
	for _, include := range []string{"include_summary", "include_transcript"} {
		if a := s.get("/meetings?"+include+"=true", tok.Access, 400); !strings.Contains(string(a.body), "OAuth users are not allowed") {
			t.Errorf("%s: %s", include, a.body)
		}
	}
	s.get("/meetings?include_highlights=true", tok.Access, 200)
	s.get("/recordings/1/transcript", tok.Access, 200)
	_, next := s.form("grant_type", "refresh_token", "refresh_token", tok.Refresh, "client_id", id, "client_secret", secret)
	if a := s.get("/teams", next.Access, 200); a.header.Get("RateLimit-Remaining") != "55" {
		t.Errorf("a refreshed token has %s of the limit left, want 55", a.header.Get("RateLimit-Remaining"))
	}
	s.clock.add(accessLife)
	s.get("/teams", next.Access, 401)
	if err := s.SetUserStatus(t.Context(), "ann@acme.example", "deactivated"); err != nil {
		t.Fatal(err)
	}
	_, last := s.form("grant_type", "refresh_token", "refresh_token", next.Refresh, "client_id", id, "client_secret", secret)
	s.get("/teams", last.Access, 401)
}

func TestTheTokenEndpointIsLimitedByApp(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	for i := range 61 {
		a, _ := s.form("grant_type", "refresh_token", "refresh_token", "x", "client_id", id, "client_secret", secret)
		if want := map[bool]int{true: 400, false: 429}[i < 60]; a.status != want {
			t.Fatalf("call %d: %d %s, want %d", i, a.status, a.body, want)
		}
	}
	other, otherSecret := s.app(t)
	if a, _ := s.form("grant_type", "password", "client_id", other, "client_secret", otherSecret); a.status != 400 {
		t.Errorf("another app: %d", a.status)
	}
}

func TestTheUsualLibraryConnects(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	cfg := oauth2.Config{ClientID: id, ClientSecret: secret, RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{AuthURL: s.base + "/oauth2/authorize", TokenURL: s.base + "/oauth2/token"}}
	code, err := s.AuthorizeApp(t.Context(), id, "ann@acme.example", redirect)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := cfg.Exchange(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	tok.Expiry = time.Now().Add(-time.Hour)
	fresh, err := cfg.TokenSource(t.Context(), tok).Token()
	if err != nil || fresh.AccessToken == tok.AccessToken {
		t.Fatalf("refreshed to %v: %v", fresh, err)
	}
	s.get("/teams", fresh.AccessToken, 200)
}

// Codes and access tokens that were issued while the clock was ahead live no longer than others.
func TestACodeOfAClockAheadLivesNoLonger(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	id, secret := s.app(t)
	const ahead = 40 * 24 * time.Hour
	s.clock.add(ahead)
	tok := s.connect(t, id, secret)
	code, err := s.AuthorizeApp(t.Context(), id, "ann@acme.example", redirect)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.add(-ahead)
	if err := s.clampTimes(t.Context()); err != nil { // as sweep does
		t.Fatal(err)
	}
	s.get("/meetings", tok.Access, http.StatusOK)
	s.clock.add(codeLife)
	a, _ := s.form("grant_type", "authorization_code", "code", code, "client_id", id, "client_secret", secret, "redirect_uri", redirect)
	if a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "expired") {
		t.Errorf("the code after ten minutes: %d %s", a.status, a.body)
	}
	s.clock.add(accessLife - codeLife)
	s.get("/meetings", tok.Access, http.StatusUnauthorized)
	if a, _ := s.form("grant_type", "refresh_token", "refresh_token", tok.Refresh, "client_id", id, "client_secret", secret); a.status != http.StatusOK {
		t.Errorf("renewed after a day: %d %s", a.status, a.body)
	}
}
