package web

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// issuer is a provider whose token endpoint answers with the ID token that it is given.
type issuer struct {
	*httptest.Server
	key       *rsa.PrivateKey
	idToken   string
	userInfo  map[string]any
	discovery map[string]any // beside, or in place of, the usual
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	p := &issuer{key: key}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/keys":
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
				"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes())}}})
		case "/token", "/moved/token":
			_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": p.idToken})
		case "/userinfo":
			_ = json.NewEncoder(w).Encode(p.userInfo)
		default:
			discovery := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/a", "token_endpoint": p.URL + "/token",
				"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
			maps.Copy(discovery, p.discovery)
			_ = json.NewEncoder(w).Encode(discovery)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// sign returns a token with the claims, signed by a function of the text.
func sign(t testing.TB, alg string, claims any, signature func(text string) []byte) string {
	t.Helper()
	header, err := json.Marshal(map[string]string{"alg": alg, "kid": "1", "typ": "JWT"})
	must(t, err)
	body, err := json.Marshal(claims)
	must(t, err)
	text := encode(header) + "." + encode(body)
	return text + "." + encode(signature(text))
}

// signer returns a function that signs a text as RS256.
func signer(t testing.TB, key *rsa.PrivateKey) func(text string) []byte {
	return func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		must(t, err)
		return signature
	}
}

// TestIDTokensOfOthersAreRefused signs in with ID tokens that were made for another
// client, by somebody else, or for another sign-in.
func TestIDTokensOfOthersAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	p := newIssuer(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	by := func(key *rsa.PrivateKey) func(string) []byte { return signer(t, key) }
	bySecret := func(text string) []byte {
		mac := hmac.New(sha256.New, []byte("secret"))
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	byPublicKey := func(text string) []byte {
		der, err := x509.MarshalPKIXPublicKey(p.key.Public())
		must(t, err)
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	const address = "ann@acme.example"
	now := time.Now()
	for _, c := range []struct {
		name      string
		change    map[string]any
		alg       string
		signature func(string) []byte
		ok        bool
	}{
		{"as it has to be", nil, "RS256", by(p.key), true},
		{"for this client among others", map[string]any{"aud": []string{"minutebook", "other"}, "azp": "minutebook"}, "RS256", by(p.key), true},
		{"for this client and others, given to nobody", map[string]any{"aud": []string{"minutebook", "other"}}, "RS256", by(p.key), false},
		{"given to a list", map[string]any{"azp": []string{"minutebook"}}, "RS256", by(p.key), false},
		{"with another subject in large letters", map[string]any{"SUB": "2"}, "RS256", by(p.key), false},
		{"with the nonce in other letters", map[string]any{"nonce": "other", "\u017fub": "1", "noncE": "n"}, "RS256", by(p.key), false},
		{"for another client", map[string]any{"aud": "other"}, "RS256", by(p.key), false},
		{"given to another client", map[string]any{"aud": []string{"minutebook", "other"}, "azp": "other"}, "RS256", by(p.key), false},
		{"for nobody", map[string]any{"aud": nil}, "RS256", by(p.key), false},
		{"of another issuer", map[string]any{"iss": "https://evil.example"}, "RS256", by(p.key), false},
		{"of another sign-in", map[string]any{"nonce": "other"}, "RS256", by(p.key), false},
		{"without a nonce", map[string]any{"nonce": nil}, "RS256", by(p.key), false},
		{"expired", map[string]any{"exp": now.Add(-time.Hour).Unix()}, "RS256", by(p.key), false},
		{"signed by somebody else", nil, "RS256", by(stranger), false},
		{"signed with the client's secret", nil, "HS256", bySecret, false},
		{"signed with the provider's public key", nil, "HS256", byPublicKey, false},
		{"not signed", nil, "none", func(string) []byte { return nil }, false},
	} {
		claims := map[string]any{"iss": p.URL, "sub": "1", "aud": "minutebook", "nonce": "n", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "email": address}
		maps.Copy(claims, c.change)
		p.idToken = sign(t, c.alg, claims, c.signature)
		party := newRelyingParty(OIDC{Issuer: p.URL, ClientID: "minutebook", ClientSecret: "secret", TrustEmail: true}, &url.URL{Scheme: "http", Host: "localhost"}, time.Now)
		got, err := party.exchange(t.Context(), "code", attempt{Nonce: "n"})
		if (err == nil) != c.ok || c.ok && got.Address != address {
			t.Errorf("a token %s: %+v, %v", c.name, got, err)
		}
	}
}

// TestClaimsCountByTheirNamesAlone signs in with claims that are called nearly as those
// that count: a provider lets people name some of their own.
func TestClaimsCountByTheirNamesAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	p := newIssuer(t)
	now := time.Now()
	party := newRelyingParty(OIDC{Issuer: p.URL, ClientID: "minutebook", ClientSecret: "secret", AdminGroup: "admins"}, &url.URL{Scheme: "http", Host: "localhost"}, time.Now)
	claims := json.RawMessage(fmt.Sprintf(`{"iss":%q,"sub":"1","aud":"minutebook","nonce":"n","iat":%d,"exp":%d,
		"email":"eve@acme.example","email_verified":false,"groups":["all"],"name":"Eve",
		"Email":"ann@acme.example","Email_Verified":true,"Groups":["admins"],"Name":"Ann"}`, p.URL, now.Unix(), now.Add(time.Hour).Unix()))
	p.idToken = sign(t, "RS256", claims, signer(t, p.key))
	got, err := party.exchange(t.Context(), "code", attempt{Nonce: "n"})
	if want := (access.Claims{Issuer: p.URL, Subject: "1", Address: "eve@acme.example", Name: "Eve"}); err != nil || got != want {
		t.Errorf("claims %+v, %v; want %+v", got, err, want)
	}
}

// TestClaimsAboutOthersAreRefused has the userinfo endpoint answer about somebody else, and
// about a subject in other letters.
func TestClaimsAboutOthersAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	p := newIssuer(t)
	p.discovery = map[string]any{"userinfo_endpoint": p.URL + "/userinfo"}
	now := time.Now()
	party := newRelyingParty(OIDC{Issuer: p.URL, ClientID: "minutebook", ClientSecret: "secret"}, &url.URL{Scheme: "http", Host: "localhost"}, time.Now)
	claims := map[string]any{"iss": p.URL, "sub": "1", "aud": "minutebook", "nonce": "n", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	p.idToken = sign(t, "RS256", claims, signer(t, p.key))
	for subject, ok := range map[string]bool{"1": true, "2": false, "": false} {
		p.userInfo = map[string]any{"sub": subject, "email": "ann@acme.example", "email_verified": true}
		if got, err := party.exchange(t.Context(), "code", attempt{Nonce: "n"}); (err == nil) != ok || ok && got.Address != "ann@acme.example" {
			t.Errorf("claims about %q: %+v, %v", subject, got, err)
		}
	}
}

// TestProvidersAreAskedByHTTPSAlone has a provider whose certificate is not known, and
// providers that name addresses without encryption: the client's secret goes nowhere.
func TestProvidersAreAskedByHTTPSAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	p := newIssuer(t)
	secure := httptest.NewUnstartedServer(p.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	addresses := map[string]any{"issuer": secure.URL, "authorization_endpoint": secure.URL + "/a", "token_endpoint": secure.URL + "/token", "jwks_uri": secure.URL + "/keys", "userinfo_endpoint": secure.URL + "/userinfo"}
	for plain := range addresses {
		p.discovery = maps.Clone(addresses)
		want := "names an address without https"
		client := secure.Client()
		if plain == "issuer" {
			client, want = nil, "an authority that this machine does not know"
		} else {
			p.discovery[plain] = p.URL + "/token"
		}
		party := newRelyingParty(OIDC{Issuer: secure.URL, ClientID: "minutebook", ClientSecret: "secret", Client: client}, &url.URL{Scheme: "http", Host: "localhost"}, time.Now)
		if _, err := party.exchange(t.Context(), "code", attempt{Nonce: "n"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", plain, err, want)
		}
	}
	p.discovery = addresses
	party := newRelyingParty(OIDC{Issuer: secure.URL, Client: secure.Client()}, &url.URL{Scheme: "http", Host: "localhost"}, time.Now)
	if _, err := party.find(t.Context()); err != nil {
		t.Error(err)
	}
}

// FuzzClaims: whatever claims a provider sends, a person has the address and the group that
// the claims name in so many letters, once, and is verified only by the provider's word.
func FuzzClaims(f *testing.F) {
	testrun.SkipUnderRace(f)
	f.Add([]byte(`{"sub":"1","email":"ann@acme.example","name":"Ann","email_verified":"true","groups":["admins"]}`), false)
	f.Add([]byte(`{"email":"ann@acme.example","Email":"eve@evil.example","email_verified":1,"groups":"staff admins"}`), true)
	f.Add([]byte(`{"email":"a","email":"b","groups":{}}`), true)
	f.Add([]byte(`{"email":"a@b.example","\u0065mail_verified":true,"groups":["Admins",7]}`), true)
	f.Add([]byte(`{"sub":"1","\u017fub":"2","email":["a"],"groups":null}`), true)
	provider := (&oidc.ProviderConfig{IssuerURL: "https://id.example"}).NewProvider(f.Context())
	f.Fuzz(func(t *testing.T, raw []byte, trust bool) {
		set, err := readClaimSet(raw, "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "nonce")
		var claims access.Claims
		if err == nil {
			p := relyingParty{OIDC: OIDC{AdminGroup: "admins", TrustEmail: trust}}
			claims, err = p.readClaims(t.Context(), provider, &oidc.IDToken{Issuer: "https://id.example", Subject: "1"}, set, nil)
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%q: %q", raw, err)
			}
			return
		}
		var members map[string]any
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatalf("%q was read: %v", raw, err)
		}
		verified, given := members["email_verified"]
		groups := fmt.Sprint(members["groups"]) // also of a list
		if claims.Address == "" || members["email"] != claims.Address || claims.Subject != "1" ||
			claims.Verified != (verified == true || verified == "true" || !given && trust) || claims.Admin && !slices.Contains(strings.Fields(strings.Trim(groups, "[]")), "admins") {
			t.Errorf("%q is read as %+v", raw, claims)
		}
	})
}
