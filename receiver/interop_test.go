package receiver

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Deliveries signed by implementations in another language verify, and each of
// them fails with another secret, id, second or body. testdata/interop says how
// they were made.
func TestInterop(t *testing.T) {
	raw, err := os.ReadFile("testdata/interop/deliveries.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Library, Secret, ID, Signature, Body string
		Timestamp                            int64
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	libraries := map[string]bool{}
	for _, d := range all {
		libraries[d.Library] = true
		k, err := newKeyring(map[string][]string{"anna": {secretB + "AAAA", d.Secret}})
		if err != nil {
			t.Fatal(err)
		}
		verify := func(account, id, body string, timestamp int64) bool {
			h := http.Header{}
			h.Set("Webhook-Id", id)
			h.Set("Webhook-Timestamp", strconv.FormatInt(timestamp, 10))
			h.Set("Webhook-Signature", d.Signature)
			if _, f := readSigned(h, time.Unix(timestamp, 0)); f != none {
				t.Fatalf("%s %s: refused by its headers with %d", d.Library, d.ID, f.status)
			}
			return k.verify(account, []byte(body), h)
		}
		if !verify("anna", d.ID, d.Body, d.Timestamp) {
			t.Errorf("%s %s with %.12s…: not verified", d.Library, d.ID, d.Secret)
		}
		if verify("anna", d.ID+"x", d.Body, d.Timestamp) || verify("anna", d.ID, d.Body+" ", d.Timestamp) ||
			verify("anna", d.ID, d.Body, d.Timestamp+1) || verify("bert", d.ID, d.Body, d.Timestamp) {
			t.Errorf("%s %s: verified after a change", d.Library, d.ID)
		}
	}
	if len(libraries) < 3 {
		t.Errorf("only %v signed", libraries)
	}
}

// The cases of the Standard Webhooks specification and its reference
// implementations.
func TestStandardCases(t *testing.T) {
	const id, body, published = "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	at := time.Unix(1614265330, 0)
	wrong := "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	for _, c := range []struct {
		name, secret, signature string
		now                     time.Time
		without                 string
		ok                      bool
	}{
		{"the signature of the reference", secretA, published, at, "", true},
		{"a secret without its prefix", strings.TrimPrefix(secretA, "whsec_"), published, at, "", true},
		{"several signatures", secretA, wrong + " v2," + published[3:] + " " + published + " " + wrong, at, "", true},
		{"invalid signature", secretA, wrong, at, "", false},
		{"partial signature", secretA, "v1,", at, "", false},
		{"missing id", secretA, published, at, "Webhook-Id", false},
		{"missing timestamp", secretA, published, at, "Webhook-Timestamp", false},
		{"missing signature", secretA, published, at, "Webhook-Signature", false},
		{"too old", secretA, published, at.Add(tolerance + time.Second), "", false},
		{"too new", secretA, published, at.Add(-tolerance - time.Second), "", false},
		{"another secret", secretB, published, at, "", false},
	} {
		k, err := newKeyring(map[string][]string{"anna": {c.secret}})
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set("Webhook-Id", id)
		h.Set("Webhook-Timestamp", "1614265330")
		h.Set("Webhook-Signature", c.signature)
		h.Del(c.without)
		_, f := readSigned(h, c.now)
		if ok := f == none && k.verify("anna", []byte(body), h); ok != c.ok {
			t.Errorf("%s: verified %v, want %v", c.name, ok, c.ok)
		}
	}
}
