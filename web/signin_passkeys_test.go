package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/internal/oidctest"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestPublicAddresses signs people in at pages with public addresses of all kinds. The
// cookie is bound to the address as tightly as browsers allow. Where they take no passkeys,
// people are told why there are none.
func TestPublicAddresses(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	person := s.signIn("ann@acme.example", true)
	provider := oidctest.Start(t, "https://minutes.example/login/oidc/callback", false)
	for address, domain := range map[string]string{
		"https://minutes.example":             "minutes.example",
		"https://minutes.example/minutebook":  "minutes.example",
		"https://xn--mnchen-3ya.example:8443": "xn--mnchen-3ya.example",
		"http://localhost:8377":               "localhost",
		"http://127.0.0.1:8377":               "",
		"https://192.168.1.5:8443/minutebook": "",
		"https://[fd00::1]:8443":              "",
		"https://minutes":                     "", // the library takes no name of one part
	} {
		var log bytes.Buffer
		o := s.options()
		o.Logger = zerolog.New(&log)
		public, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		o.Identify, o.Entry = nil, Entry{People: s.people, PublicURL: public, Passwords: true, OIDC: &OIDC{Issuer: provider.Issuer, ClientID: "x"}}
		page, err := New(o)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		session, attributes, others := "", "", map[string]string{}
		ask := func(method, path, form string) (int, string) {
			r := httptest.NewRequestWithContext(t.Context(), method, public.Scheme+"://"+public.Host+path, strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Cookie", session)
			rec := httptest.NewRecorder()
			page.ServeHTTP(rec, r)
			for _, c := range rec.Result().Cookies() {
				text := fmt.Sprint(" ", c.Path, c.Domain, " Secure ", c.Secure, " HttpOnly ", c.HttpOnly, " Lax ", c.SameSite == http.SameSiteLaxMode)
				if name, kind, ok := strings.Cut(c.Name, "minutebook-"); ok {
					others[kind[:4]] = fmt.Sprint(name, "minutebook", text, " for ", c.MaxAge)
					continue
				}
				session, attributes = c.Name+"="+c.Value, fmt.Sprint(c.Name, text, " for ", c.MaxAge)
			}
			return rec.Code, rec.Body.String()
		}
		begin, options := ask("POST", "/login/passkey/begin", "")
		_, login := ask("GET", "/login", "")
		signedIn, _ := ask("POST", "/login", url.Values{"address": {person.Address()}, "password": {goodPassword}}.Encode())
		_, me := ask("GET", "/me", "")
		want := "minutebook / Secure false"
		switch isSecure := public.Scheme == "https"; {
		case isSecure && public.Path == "":
			want = "__Host-minutebook / Secure true"
		case isSecure:
			want = "__Secure-minutebook " + public.Path + " Secure true"
		}
		want += " HttpOnly true Lax true for "
		ask("GET", "/login/oidc", "")
		for name, got := range map[string][2]string{"session": {attributes, "7776000"}, "browser": {others["brow"], "7776000"}, "attempt": {others["oidc"], "900"}} {
			if got[0] != want+got[1] {
				t.Errorf("%s: the cookie of the %s is %q, want %q", address, name, got[0], want+got[1])
			}
		}
		removed, _ := ask("POST", "/me/passkeys/remove", "passkey=AAAA")
		secret, _, err := s.people.Invite(t.Context(), access.ActorCommand, person.ID)
		if err != nil {
			t.Fatal(err)
		}
		_, invitation := ask("GET", "/invitation?secret="+secret, "")
		offers := 0
		for _, page := range []string{login, me, invitation} {
			offers += strings.Count(page, "<button type=\"button\" data-passkey=") + strings.Count(page, "passkeys.js")
		}
		const why = "browsers take passkeys for a domain such as minutes.example alone"
		warned := strings.Contains(me, why) && strings.Count(log.String(), "web.public_url") == 1
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, public.Scheme+"://"+public.Host+"/logout", nil)
		r.Header.Set("Cookie", session)
		out := httptest.NewRecorder()
		page.ServeHTTP(out, r)
		if c := out.Result().Cookies(); len(c) != 1 || !strings.HasPrefix(session, c[0].Name+"=") || c[0].Value != "" || c[0].MaxAge >= 0 ||
			(out.Header().Get("Clear-Site-Data") == "") != (public.Path != "") {
			t.Errorf("%s: signing out sets %v and clears %q", address, c, out.Header().Get("Clear-Site-Data"))
		}
		switch {
		case signedIn != http.StatusSeeOther || removed != http.StatusSeeOther:
			t.Errorf("%s: signing in %d, removing a passkey %d", address, signedIn, removed)
		case domain != "" && (begin != http.StatusOK || !strings.Contains(options, `"rpId":"`+domain+`"`) || offers != 6 || warned):
			t.Errorf("%s: %d %s, %d offers, warned %v", address, begin, options, offers, warned)
		case domain == "" && (begin == http.StatusOK || offers != 0 || !warned):
			t.Errorf("%s: %d, %d offers, warned %v: %s", address, begin, offers, warned, log.String())
		}
	}
}
