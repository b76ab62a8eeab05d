package outbound

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestGlobal(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "2a00:1450:4001::1": true, "::ffff:8.8.8.8": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "255.255.255.255": false,
		"224.0.0.1": false, "240.0.0.1": false, "198.18.0.1": false, "192.0.2.1": false, "203.0.113.9": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "::127.0.0.1": false,
		"fe80::1%eth0": false, "fc00::1": false, "ff02::1": false, "2001:db8::1": false, "2002:7f00:1::": false,
		"2001:0:1::": false, "fec0::1": false, "::": false,
	} {
		if got := isGlobal(netip.MustParseAddr(addr)); got != want {
			t.Errorf("isGlobal(%s) = %v, want %v", addr, got, want)
		}
	}
}

func TestClientRefusesTheDialledAddress(t *testing.T) {
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	defer srv.Close()
	byName := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{srv.URL, byName} {
		_, err := NewClient(Options{}).Get(url)
		if !errors.Is(err, ErrNotGlobal) {
			t.Errorf("get %s: %v, want %v", url, err, ErrNotGlobal)
		}
	}
	if calls != 0 {
		t.Errorf("the server was reached %d times", calls)
	}
}

func TestClientHandsBackRedirects(t *testing.T) {
	followed := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/next" {
			followed = true
			return
		}
		http.Redirect(w, r, "/next", http.StatusFound)
	}))
	defer srv.Close()
	resp, err := NewClient(Options{AllowPrivate: true}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound || followed {
		t.Errorf("status %d, followed %v", resp.StatusCode, followed)
	}
}
