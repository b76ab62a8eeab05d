package receiver

import (
	"bufio"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/archive/inbox"
)

var dateLine = regexp.MustCompile(`(?m)^Date: .*\n`)

// An unknown account, a wrong signature, a wrong age and a wrong token cannot be
// told apart: the answers are the same to the byte, but for their date.
func TestRefusalsDoNotTell(t *testing.T) {
	r := start(t, Options{Accounts: map[string][]string{"anna": {secretA, secretB}, "bert": nil}})
	token, err := r.inbox.NewCallback(t.Context(), "anna", 42, inbox.KindSummary, -time.Second)
	if err != nil {
		t.Fatal(err)
	}
	delivery := func(account string, age time.Duration) *http.Request {
		return signedRequest(t, r.url, account, "whsec_"+strings.Repeat("QUFB", 8), "msg_1", time.Now().Add(-age), []byte(meeting))
	}
	callback := func(token string) *http.Request {
		req, err := http.NewRequest("POST", r.url+"/callbacks/summary/"+token, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	first := ""
	for name, req := range map[string]*http.Request{
		"wrong signature": delivery("anna", 0), "account without secrets": delivery("bert", 0), "unknown account": delivery("nobody", 0),
		"long unknown account": delivery(strings.Repeat("x", 300), 0), "too old": delivery("anna", time.Hour),
		"old and unknown": delivery("nobody", time.Hour), "too new": delivery("anna", -time.Hour),
		"unknown token": callback(strings.Repeat("A", 43)), "expired token": callback(token), "token of 1 KB": callback(strings.Repeat("A", 1024)),
	} {
		c := raw(t, r.addr, "")
		if err := req.Write(c); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := httputil.DumpResponse(resp, true)
		if err != nil {
			t.Fatal(err)
		}
		got := dateLine.ReplaceAllString(string(text), "")
		if first == "" {
			first = got
		}
		if resp.StatusCode != 401 || got != first {
			t.Errorf("%s: %q, others: %q", name, got, first)
		}
	}
}

// A try takes the same work for every account, known or not.
func TestEveryAccountCostsTheSame(t *testing.T) {
	r := start(t, Options{Accounts: map[string][]string{"anna": {secretA, secretB}, "bert": nil}})
	if tries := r.keys.Load().tries; tries != 2 {
		t.Errorf("%d keys are tried for every account, want 2", tries)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	r := start(t, Options{})
	c := raw(t, r.addr, "POST /webhooks/anna HTTP/1.1\r\nHost: h\r\nX-Large: "+strings.Repeat("x", 64<<10))
	if got := statusOf(t, c); got != 431 {
		t.Errorf("64 KB of headers: %d, want 431", got)
	}
}

// Behind a trusted proxy the bound on one address is on the client that it
// names; the claims of others in that header count for nothing.
func TestClientsBehindAProxy(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted []netip.Prefix
		second  string // X-Forwarded-For of a request beside the one of 198.51.100.1
		status  int
	}{
		{"the same client", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "198.51.100.1", 503},
		{"the same client claims more", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "198.51.100.2, 198.51.100.1", 503},
		{"another client", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "198.51.100.2", 200},
		{"no proxy is trusted", nil, "198.51.100.2", 503},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, Options{MaxPerAddr: 1, TrustedProxies: c.trusted})
			slow := raw(t, r.addr, head("X-Forwarded-For: 198.51.100.1\r\nContent-Length: 1000"))
			waitFor(t, func() bool {
				r.clients.mu.Lock()
				defer r.clients.mu.Unlock()
				return len(r.clients.under) == 1
			})
			req := signedRequest(t, r.url, "anna", secretA, "msg_2", time.Now(), []byte(meeting))
			req.Header.Set("X-Forwarded-For", c.second)
			got := send(t, req)
			if got.status != c.status || (got.header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("status %d, Retry-After %q; want %d", got.status, got.header.Get("Retry-After"), c.status)
			}
			slow.Close()
			waitFor(t, func() bool { return r.deliver(t, "msg_3", meeting) == 200 })
		})
	}
}
