package httpserver

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddr(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, c := range []struct {
		peer, want string
		forwarded  []string
	}{
		{"192.0.2.1:5", "192.0.2.1", []string{"198.51.100.9"}}, // not a proxy: not believed
		{"10.0.0.1:5", "10.0.0.1", nil},
		{"10.0.0.1:5", "198.51.100.9", []string{"198.51.100.9"}},
		{"10.0.0.1:5", "198.51.100.9", []string{"203.0.113.7, 198.51.100.9, 10.2.3.4"}},
		{"10.0.0.1:5", "198.51.100.9", []string{"203.0.113.7", "198.51.100.9"}},
		{"10.0.0.1:5", "198.51.100.9", []string{"203.0.113.7:1, 198.51.100.9:4711, 10.2.3.4:5"}},
		{"10.0.0.1:5", "2001:db8::1", []string{"[2001:db8::1]:4711"}},
		{"10.0.0.1:5", "2001:db8::1", []string{"[2001:db8::1]"}},
		{"10.0.0.1:5", "10.0.0.1", []string{"unknown"}},
		{"[::1]:5", "2001:db8::1", []string{"2001:db8::1"}},
		{"[::ffff:10.0.0.1]:5", "198.51.100.9", []string{"::ffff:198.51.100.9"}},
	} {
		req := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := ClientAddr(req, trusted); got.String() != c.want {
			t.Errorf("%s forwarding %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}
