package receiver

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/archive/inbox"
)

// FuzzHeaders: whatever headers come, an accepted delivery has one canonical form,
// and verifies only with the signature that the library itself makes.
func FuzzHeaders(f *testing.F) {
	now := time.Unix(1772265600, 0)
	right := signature(secretA, "msg_1", now, []byte(meeting))
	f.Add("msg_1", "1772265600", right, "")
	f.Add("msg.1", "+1772265600", "v1,"+right+" v2,x", "v1a,x")
	f.Add(strings.Repeat("x", 300), "01772265600", right+" "+right, right)
	f.Add("msg 1", "1e9", "v1,", " ")
	k, err := newKeyring(map[string][]string{"anna": {secretA, secretB}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, stamp, signatures, second string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signatures}}
		if second != "" {
			h["Webhook-Signature"] = append(h["Webhook-Signature"], second)
		}
		s, refused := readSigned(h, now)
		if refused != none {
			if refused.status != 400 && refused.status != 401 {
				t.Errorf("refused with %d", refused.status)
			}
			return
		}
		if second != "" || s.id != id || strings.ContainsAny(id, ". \n") || strconv.FormatInt(s.at.Unix(), 10) != stamp {
			t.Errorf("accepted %q %q %q %q", id, stamp, signatures, second)
		}
		if k.verify("anna", []byte(meeting), h) {
			a, b := signature(secretA, id, s.at, []byte(meeting)), signature(secretB, id, s.at, []byte(meeting))
			if !strings.Contains(signatures, a) && !strings.Contains(signatures, b) {
				t.Errorf("verified by %q", signatures)
			}
		}
		if k.verify("bert", []byte(meeting), h) {
			t.Error("verified for an unknown account")
		}
	})
}

// FuzzPayload: a body verifies as it was signed and in no other form, and is
// kept byte for byte.
func FuzzPayload(f *testing.F) {
	f.Add([]byte(meeting), []byte(meeting+"\n"))
	f.Add([]byte(""), []byte("\x00"))
	f.Add([]byte("\xff\xfe not UTF-8"), []byte("{"))
	r := fuzzed(f)
	handler := r.Handler()
	n := 0
	f.Fuzz(func(t *testing.T, body, other []byte) {
		n++
		id := "msg_" + strconv.Itoa(n) + "_" + strconv.FormatInt(time.Now().UnixNano(), 10)
		post := func(sent []byte) int {
			req := signedRequest(t, "http://h", "anna", secretA, id, time.Now(), body)
			withBody(sent)(req)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			return w.Code
		}
		if string(other) != string(body) {
			if got := post(other); got != 401 {
				t.Errorf("another body: %d", got)
			}
		}
		if got := post(body); got != 200 {
			t.Fatalf("the right body: %d", got)
		}
		d, err := r.inbox.(*inbox.Inbox).DeliveryOf(t.Context(), "anna", id)
		if err != nil {
			t.Fatal(err)
		}
		if d, err = r.inbox.(*inbox.Inbox).Delivery(t.Context(), d.ID); err != nil || string(d.Body) != string(body) {
			t.Errorf("kept as %q, %v", d.Body, err)
		}
	})
}

// FuzzToken: no path but the one with the right kind and token is answered 200.
func FuzzToken(f *testing.F) {
	r := fuzzed(f)
	token, err := r.inbox.(*inbox.Inbox).NewCallback(f.Context(), "anna", 42, inbox.KindSummary, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("summary", token, []byte(`{"summary":null}`))
	f.Add("transcript", token, []byte(`{"transcript":[]}`))
	f.Add("summary", strings.Repeat("x", 300), []byte(`{}`))
	f.Add("download", "%2e%2e", []byte(`[`))
	handler := r.Handler()
	f.Fuzz(func(t *testing.T, kind, tried string, body []byte) {
		req := httptest.NewRequest("POST", "http://h/callbacks/kind/token", strings.NewReader(string(body)))
		req.URL.Path = "/callbacks/" + kind + "/" + tried
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if right := kind == "summary" && tried == token; right != (w.Code == 200) {
			t.Errorf("%q %q: %d", kind, tried, w.Code)
		}
	})
}

func fuzzed(f *testing.F) *Receiver {
	box, err := inbox.Open(f.Context(), filepath.Join(f.TempDir(), "inbox.db"), inbox.Options{Create: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { box.Close() })
	r, err := New(Options{Inbox: box, Accounts: map[string][]string{"anna": {secretA}}})
	if err != nil {
		f.Fatal(err)
	}
	return r
}
