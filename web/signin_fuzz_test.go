package web

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/rs/zerolog"

	"minutebook/internal/testrun"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// fuzzedEntry is the server of a site at which people sign in, and an admin of it.
type fuzzedEntry struct {
	*server
	http.Handler
	t     testing.TB
	admin access.Person
}

func newFuzzedEntry(f *testing.F, change func(*Options)) *fuzzedEntry {
	var options Options
	s := newEntrySiteWith(f, access.Options{AccountKeys: [][]byte{bytes.Repeat([]byte{1}, access.AccountKeySize)}}, func(o *Options) {
		o.Logger = zerolog.Nop()
		o.Entry.PublicURL = &url.URL{Scheme: "https", Host: "minutes.example"}
		if change != nil {
			change(o)
		}
		options = *o
	})
	now := time.Now()
	s.now.Store(&now)
	admin, _ := s.add("boss@acme.example", true)
	server, err := newServer(options)
	if err != nil {
		f.Fatal(err)
	}
	return &fuzzedEntry{server, server.handler(), f, admin}
}

// ask sends a request, and fails where the answer is a fault or no JSON. The client has made no
// other attempts to sign in.
func (s *fuzzedEntry) ask(t *testing.T, method, target, kind string, body []byte, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	t.Helper()
	s.SignIns.attempts = access.NewLimiter(time.Now)
	path, query, _ := strings.Cut(target, "?")
	r := httptest.NewRequestWithContext(t.Context(), method, "https://minutes.example"+path, bytes.NewReader(body))
	r.URL.RawQuery = query
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range cookies {
		r.Header.Add("Cookie", c.Name+"="+c.Value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code >= 500 {
		t.Errorf("%s %q %q: %d %.300s", method, target, body, w.Code, w.Body)
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %q %q: %d %.300s is no JSON", method, target, body, w.Code, w.Body)
	}
	return w
}

// session signs a person in.
func (s *fuzzedEntry) session(t *testing.T, p access.Person) *http.Cookie {
	t.Helper()
	now, err := s.Entry.People.Person(t.Context(), p.ID)
	must(t, err)
	secret, _, err := s.Entry.People.BeginSession(t.Context(), now, access.MethodPassword)
	must(t, err)
	return &http.Cookie{Name: s.cookieName(), Value: secret}
}

// isSignedIn reports whether an answer begins a session.
func (s *fuzzedEntry) isSignedIn(w *httptest.ResponseRecorder) bool {
	return slices.ContainsFunc(w.Result().Cookies(), func(c *http.Cookie) bool { return c.Name == s.cookieName() && c.Value != "" })
}

// FuzzPasskeys: nobody is signed in by a passkey but by the bytes that its owner's key has
// signed, and no answer of a browser, with a new passkey or a known one, is a fault.
func FuzzPasskeys(f *testing.F) {
	testrun.SkipUnderRace(f)
	s := newFuzzedEntry(f, nil)
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	const challenge, origin = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", `"challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","origin":"https://minutes.example"}`
	id := []byte("the passkey of the boss")
	cose := slices.Concat([]byte("\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20"), public[1:33], []byte("\x22\x58\x20"), public[33:])
	host := sha256.Sum256([]byte("minutes.example"))
	known := []byte(`{"type":"webauthn.get",` + origin)
	data := append(host[:], 5, 0, 0, 0, 0) // the person is there, and was verified
	hash := sha256.Sum256(known)
	digest := sha256.Sum256(append(slices.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err == nil {
		err = s.Entry.People.AddPasskey(f.Context(), s.admin.ID, "key", &webauthn.Credential{ID: id, PublicKey: cose})
	}
	if err != nil {
		f.Fatal(err)
	}
	owner, err := s.Entry.People.PasskeyOwner(f.Context(), s.admin.ID)
	if err != nil {
		f.Fatal(err)
	}
	made := slices.Concat(host[:], []byte{0x45, 0, 0, 0, 0}, make([]byte, 16), []byte{0, 3}, []byte("new"), cose)
	attest := func(format, statement string) []byte {
		return slices.Concat([]byte("\xa3\x63fmt"), []byte{0x60 + byte(len(format))}, []byte(format), []byte("\x67attStmt"), []byte(statement), []byte("\x68authData\x58"), []byte{byte(len(made))}, made)
	}
	fresh, plain := []byte(`{"type":"webauthn.create",`+origin), attest("none", "\xa0")
	f.Add(known, data, []byte("good"), fresh, plain, []byte{})
	f.Add(known, append(slices.Clone(data[:32]), 0x85, 0, 0, 0, 9, 0xa0), []byte("good"), fresh, attest("packed", "\xa2\x63alg\x26\x63sig\x41\x00"), []byte("{}"))
	f.Add([]byte(`{"type":"webauthn.create",`+origin), data[:30], []byte{}, known, attest("fido-u2f", "\xa2\x63sig\x41\x00\x63x5c\x81\x41\x30"), []byte(`{"label":"x","credential":{"id":"AA","rawId":"AA","type":"public-key","response":{}}}`))
	f.Add([]byte(`null`), []byte{}, []byte("good"), []byte("[]"), attest("tpm", "\xa6\x63ver\x632.0\x63alg\x26\x63sig\x41\x00\x63x5c\x80\x68certInfo\x40\x67pubArea\x40"), []byte(`{"id":7}`))
	f.Add(known, data, []byte("0\x06\x02\x01\x01\x02\x01\x01"), []byte{}, attest("android-key", "\xa3\x63alg\x26\x63sig\x40\x63x5c\x81\x40"), []byte(`{"response":{"clientDataJSON":"`+strings.Repeat("A", 100)+`"}}`))
	f.Fuzz(func(t *testing.T, client, authenticator, sig, newClient, attestation, raw []byte) {
		if string(sig) == "good" {
			sig = signature
		}
		finish := func(path string, body any, session ...*http.Cookie) bool {
			_, found, err := s.passkeys.BeginDiscoverableLogin()
			if path != "/login/passkey/finish" {
				_, found, err = s.passkeys.BeginRegistration(owner)
			}
			must(t, err)
			found.Challenge = challenge
			s.SignIns.ceremonies.keep(netip.MustParseAddr("192.0.2.1"), found)
			text, isText := body.([]byte)
			if !isText {
				text, err = json.Marshal(body)
				must(t, err)
			}
			return s.ask(t, "POST", path, "application/json", text, session...).Code == http.StatusOK
		}
		session := s.session(t, s.admin)
		credential := func(id []byte, response map[string]string) map[string]any {
			return map[string]any{"id": encode(id), "rawId": encode(id), "type": "public-key", "response": response}
		}
		in := finish("/login/passkey/finish", credential(id, map[string]string{"clientDataJSON": encode(client), "authenticatorData": encode(authenticator), "signature": encode(sig), "userHandle": encode(owner.WebAuthnID())}))
		if right := bytes.Equal(client, known) && bytes.Equal(authenticator, data); in && !right || right && bytes.Equal(sig, signature) && !in {
			t.Errorf("%q, %q, %q: signed in is %v", client, authenticator, sig, in)
		}
		created := map[string]any{"label": "x", "credential": credential([]byte("new"), map[string]string{"clientDataJSON": encode(newClient), "attestationObject": encode(attestation)})}
		added := finish("/me/passkeys/finish", created, session)
		if bytes.Equal(newClient, fresh) && bytes.Equal(attestation, plain) && !added {
			t.Error("a new passkey is refused")
		}
		finish("/me/passkeys/finish", raw, session)
		if finish("/login/passkey/finish", raw) {
			t.Errorf("%q signs somebody in", raw)
		}
		finish("/me/passkeys/finish", created, session) // once more
		all, err := s.Entry.People.Passkeys(t.Context(), s.admin.ID)
		must(t, err)
		for _, p := range all {
			if !bytes.Equal(p.ID, id) {
				must(t, s.Entry.People.RemovePasskey(t.Context(), s.admin.ID, p.ID))
			}
		}
	})
}

// FuzzForms: whatever somebody sends to the pages for signing in, and to those of the own
// account and of people, nobody is signed in without the password, and no answer is a fault.
func FuzzForms(f *testing.F) {
	testrun.SkipUnderRace(f)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	f.Cleanup(service.Close)
	s := newFuzzedEntry(f, func(o *Options) {
		var err error
		o.Accounts, err = accounts.New(accounts.Options{People: o.Entry.People, BaseURL: service.URL, Logger: zerolog.Nop(),
			App: &accounts.App{ClientID: "id", ClientSecret: "secret", RedirectURL: accountRedirect}})
		must(f, err)
	})
	paths := strings.Fields(connectionPath + " " + accounts.RedirectPath + " /login /invitation /logout /me /me/password /me/tokens /me/tokens/revoke /me/sessions/end /me/passkeys/remove /me/account/key /me/account/end /admin/people /admin/people/1/admin /admin/people/1/remove /admin/people/2/address /admin/people/2/invite /admin/audit /invitation/passkey/begin /people/undo /saved/1/notify /unsubscribe/x /status/run /setup /setup/account /api/v1/me")
	const kind = "application/x-www-form-urlencoded"
	for i := range paths {
		f.Add(byte(i), "code=x&state=x&next=//evil.example&secret=x&q=boss&before=1", kind, []byte("address=boss@acme.example&password=a+long+enough+password&again=a+long+enough+password&next=/\\evil.example&label=x&scope=read&days=7&token=1&session=1&passkey=AA&name=B&admin=true&secret=x&key=x"))
	}
	f.Add(byte(2), "next=%00", kind+"; charset=latin1", []byte("address=%ff&password=%00;a"))
	f.Add(byte(6), "", "multipart/form-data; boundary=a", []byte("--a\r\nContent-Disposition: form-data; name=\"old\"\r\n\r\nx\r\n--a--"))
	f.Fuzz(func(t *testing.T, path byte, query, kind string, body []byte) {
		at := paths[int(path)%len(paths)]
		for _, method := range []string{"GET", "POST"} {
			w := s.ask(t, method, at+"?"+query, kind, body)
			if form, _ := url.ParseQuery(string(body)); s.isSignedIn(w) {
				if _, err := s.Entry.People.CheckPassword(t.Context(), form.Get("address"), form.Get("password")); err != nil {
					t.Errorf("%s %q %q signs somebody in", method, at, body)
				}
			}
			boss, err := s.Entry.People.PersonByAddress(t.Context(), "boss@acme.example")
			if err != nil { // the last input has removed the address
				boss, err = s.Entry.People.AddPerson(t.Context(), access.ActorCommand, "boss@acme.example", "", true)
			}
			must(t, err)
			w = s.ask(t, method, at+"?"+query, kind, body, s.session(t, boss))
			if to := w.Header().Get("Location"); to != "" && !strings.HasPrefix(to, service.URL+"/") && (to[0] != '/' || len(to) > 1 && strings.ContainsAny(to[1:2], `/\`)) {
				t.Errorf("%s %q %q leads to %q", method, at, body, to)
			}
		}
	})
}

// FuzzAttempts: by a cookie of a sign-in that a browser may have written itself, somebody is
// signed in only where the provider's answer is to that sign-in, and is led to no other site.
func FuzzAttempts(f *testing.F) {
	testrun.SkipUnderRace(f)
	provider := newIssuer(f)
	s := newFuzzedEntry(f, func(o *Options) {
		o.Entry.OIDC = &OIDC{Issuer: provider.URL, ClientID: "minutebook", ClientSecret: "secret", Entrance: access.Entrance{Join: access.JoinInvited}}
	})
	now := s.Now()
	provider.idToken = sign(f, "RS256", map[string]any{"iss": provider.URL, "sub": "1", "aud": "minutebook", "nonce": "n",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "email": "boss@acme.example", "email_verified": true}, signer(f, provider.key))
	for _, more := range []string{"", "&error=login_required", "&error=%1b[2J", "&iss=x&iss=y", "&code=", ";"} {
		f.Add([]byte(`{"state":"s","nonce":"n","verifier":"v","next":"/status"}`), "s", "code=x&state=s"+more, int64(60))
	}
	f.Add([]byte(`{"State":"s","NONCE":"n","nonce":"m","silent":true,"next":"//evil.example"}`), "s", "state=s", int64(1))
	f.Add([]byte(`{"state":"","nonce":"n","next":"/\\evil.example"}`), "", "code=x&state=", int64(900))
	f.Add([]byte(`[]`), "%00", "code=x&state=%2500", int64(-1))
	f.Add([]byte(`{"state":7}`), "a b\x00", "code=x&state=a+b%00", int64(1)<<62)
	f.Fuzz(func(t *testing.T, raw []byte, name, query string, left int64) {
		members := map[string]any{}
		if json.Unmarshal(raw, &members) == nil && members != nil && members["until"] == nil {
			members["until"] = s.Now().Unix() + left
			var err error
			raw, err = json.Marshal(members)
			must(t, err)
		}
		w := s.ask(t, "GET", "/login/oidc/callback?"+query, "", nil, &http.Cookie{Name: s.attemptPrefix() + name, Value: encode(raw)})
		var a attempt
		err := json.Unmarshal(raw, &a)
		if s.isSignedIn(w) && (err != nil || a.Nonce != "n" || a.Until <= s.Now().Unix()-1) {
			t.Errorf("%q %q %q signs somebody in", raw, name, query)
		}
		if to := w.Header().Get("Location"); to != "" && (to[0] != '/' || len(to) > 1 && strings.ContainsAny(to[1:2], `/\`)) {
			t.Errorf("%q %q leads to %q", raw, query, to)
		}
	})
}
