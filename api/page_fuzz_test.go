package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"minutebook/internal/loopback"
)

// FuzzPage: a page that is read has the items of its list and no other, and a missing list
// is never an empty one.
func FuzzPage(f *testing.F) {
	for _, s := range []string{`{"limit":10,"next_cursor":null,"items":[]}`, `{"items":null}`, `{}`, `[]`, `{"items":[1,{"a":2}],"next_cursor":7}`,
		`{"items":[],"items":{}}`, `{"next_cursor":{"a":1},"items":[null]}`, ` `, `{"items":[[]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) && len(body) > 0 {
			return // an answer's body is valid JSON, or empty
		}
		p, err := readPage(&call{method: "GET", path: "/meetings", query: url.Values{}}, &answer{status: 200, body: body})
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			t.Fatalf("a page was read from %q", body)
		}
		for _, item := range p.Items {
			if !json.Valid(item) {
				t.Errorf("the item %q is no JSON", item)
			}
		}
	})
}

// FuzzParseTime: an instant that is read is written and read again as the same.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2025-10-15T17:31:26Z", "2025-10-15T17:31:26.123+02:00", "2025-10-15 17:31", "0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "1760549486"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime(s)
		if err != nil {
			return
		}
		raw, err := json.Marshal(at)
		if err != nil {
			t.Fatalf("%q is %v, which cannot be written: %v", s, at, err)
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
		if again, err := ParseTime(text); err != nil || !again.Equal(at) {
			t.Errorf("%q is %v, and then %v, %v", s, at, again, err)
		}
	})
}

// FuzzTokenAnswer: of whatever the token endpoint answers, the account keeps a pair that can
// be sent and is read back from the store as it was kept, or fails without showing a secret.
func FuzzTokenAnswer(f *testing.F) {
	const secret, old = "the-secret-of-the-app", "the-refresh-token-of-before"
	f.Add(200, []byte(`{"access_token":"a","refresh_token":"r","expires_in":86400,"token_type":"bearer","scope":"public_api"}`))
	f.Add(200, []byte(`{"access_token":"a\nb","expires_in":"1e8"}`))
	f.Add(200, []byte(`{"access_token":7,"refresh_token":null,"expires_in":-1}`))
	f.Add(400, []byte(`{"error":"invalid_grant the-refresh-token-of-before","error_description":"\u001b[2J"}`))
	f.Add(401, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 499 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
			return // a call that fails for a while is made again
		}
		tr := &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write(body)
		})}
		store := &memoryStore{}
		a, err := NewOAuth(OAuthOptions{Account: "work", BaseURL: testBase, ClientID: "id", ClientSecret: secret, Store: store, HTTP: &http.Client{Transport: tr}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := WithoutRepetition(t.Context())
		pair, err := a.requestToken(ctx, url.Values{"refresh_token": {old}}, old)
		if err != nil {
			if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, old) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%d %q: %q", status, body, text)
			}
			return
		}
		if !httpguts.ValidHeaderFieldValue(bearer + pair.AccessToken) {
			t.Errorf("%q has a token that cannot be sent", body)
		}
		if life := pair.ExpiresAt.Sub(pair.ObtainedAt); !pair.ExpiresAt.IsZero() && (life <= 0 || life > 1e9*time.Second) {
			t.Errorf("%q lasts %v", body, life)
		}
		if err := a.storePair(ctx, pair); err != nil {
			t.Fatal(err)
		}
		a.pair = nil
		if err := a.reload(ctx); err != nil || *a.pair != *pair {
			t.Errorf("%q is kept as %+v, and read back as %+v, %v", body, pair, a.pair, err)
		}
	})
}
