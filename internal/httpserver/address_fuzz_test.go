package httpserver

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// FuzzClientAddr: whatever a client writes into X-Forwarded-For, its address is the one that the
// outermost trusted proxy has seen, or that proxy's own where the proxy names none.
func FuzzClientAddr(f *testing.F) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("::1/128")}
	f.Add("10.0.0.1", []byte{192, 0, 2, 1}, "unknown")
	f.Add("203.0.113.7, 10.2.3.4:5", netip.MustParseAddr("2001:db8::1").AsSlice(), "_hidden")
	f.Add("[::ffff:10.0.0.1]:5,", netip.MustParseAddr("::ffff:198.51.100.9").AsSlice(), "")
	f.Add("fd00::1%eth0", []byte{10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, "10.0.0.1 x")
	f.Fuzz(func(t *testing.T, forged string, raw []byte, nobody string) {
		client, ok := netip.AddrFromSlice(raw)
		if !ok || Contains(trusted, client.Unmap()) {
			return
		}
		ask := func(peer string, lines ...string) netip.Addr {
			return ClientAddr(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": lines}}, trusted)
		}
		const proxy = "10.0.0.1"
		port := netip.AddrPortFrom(client, 4711).String()
		if got := ask(port, forged, proxy); got != client.Unmap() {
			t.Errorf("%s, no proxy, writes %q and is %s", client, forged, got)
		}
		for _, seen := range []string{client.String(), "[" + client.String() + "]", port} {
			for _, lines := range [][]string{{forged + "," + seen}, {forged, seen}, {forged + ", " + seen + ", 10.2.3.4"}, {forged, seen, "[fd00::5]:80"}} {
				if got := ask(proxy+":5", lines...); got != client.Unmap() {
					t.Errorf("%s forwards %q for %s", proxy, lines, got)
				}
			}
		}
		if _, err := parseHop(strings.TrimSpace(nobody)); err != nil && !strings.Contains(nobody, ",") {
			if got := ask(proxy+":5", forged, nobody); got.String() != proxy {
				t.Errorf("%s forwards %q and %q for %s", proxy, forged, nobody, got)
			}
		}
	})
}
