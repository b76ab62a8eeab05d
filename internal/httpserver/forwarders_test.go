package httpserver

import (
	"fmt"
	"net/http"
	"testing"
)

// TestForwarders notes senders in private networks alone, each once, and few.
func TestForwarders(t *testing.T) {
	var f Forwarders
	note := func(peer string, forwarded ...string) {
		f.Note(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": forwarded}})
	}
	note("172.18.0.3:1", "198.51.100.9")
	note("172.18.0.3:2", "198.51.100.10")
	note("198.51.100.1:1", "203.0.113.1") // anyone on the internet
	note("10.0.0.9:1")                    // forwards nothing
	note("[::1]:1", "198.51.100.9")
	note("[fe80::1%eth0]:1", "198.51.100.9")
	note("100.64.0.1:1", "198.51.100.9")
	note("[::ffff:127.0.0.1]:1", "198.51.100.9")
	note("@", "198.51.100.9") // a socket of this machine has no address
	if got, want := fmt.Sprint(f.All()), "[100.64.0.1 127.0.0.1 172.18.0.3 ::1 fe80::1]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for i := range 100 {
		note(fmt.Sprintf("10.0.0.%d:1", i), "198.51.100.9")
	}
	if n := len(f.All()); n != maxForwarders {
		t.Errorf("%d are noted, not %d", n, maxForwarders)
	}
	var none *Forwarders
	none.Note(&http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {"198.51.100.9"}}})
}
