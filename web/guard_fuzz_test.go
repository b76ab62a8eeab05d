package web

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/internal/testrun"
)

// FuzzGuard: a page that asks nobody who they are answers under no name but its own, and
// nothing that a proxy says of itself, however it is written.
func FuzzGuard(f *testing.F) {
	testrun.SkipUnderRace(f)
	o := newSite(f, meeting(1, "Walrus", "2026-06-10T09:00:00Z", "")).options()
	o.Identify, o.Logger = nil, zerolog.Nop()
	server, err := newServer(o)
	if err != nil {
		f.Fatal(err)
	}
	page := server.handler()
	for _, host := range []string{"127.0.0.1:8377", "localhost.", "[::1]:80", "[::ffff:127.0.0.1]", "a.LOCALHOST", "notes.example", "evil.example", "127.0.0.1.evil.example", "localhost:80@evil.example",
		"0.0.0.0", "2130706433", "0x7f.1", "[::1%25lo]", "127.0.0.1%00", "[localhost]", "[evil.example]", "localhost:x:y", "localhost:80,evil.example", "[127.0.0.1]",
		"evil.example/.localhost", "evil.example#.localhost", "@.localhost", ".localhost", "localhost:", "::1", "[::1]evil.example", "[::1]:80:80", "localhost:123456"} {
		f.Add(host, "Accept-Language: en\r\n", false)
	}
	for _, header := range []string{"X-Forwarded-For: 192.0.2.1", "x_forwarded-HOST:\t", "Forwarded:for=_x", "Via: 1.1 a", "X-Forwarded :a", "Accept: a\r\n X-Forwarded-For: b", "Connection: close\r\nAccept-Language: en",
		"Sec-Fetch-Site: same-origin\r\nOrigin: null", "Sec-Fetch-Site: same-origin\r\nReferer: //evil.example"} {
		f.Add("localhost", header+"\r\n", strings.HasPrefix(header, "Via"))
	}
	f.Fuzz(func(t *testing.T, host, headers string, old bool) {
		version := "1.1"
		if old {
			version = "1.0"
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET / HTTP/" + version + "\r\nHost: " + host + "\r\n" + headers + "\r\n")))
		if err != nil {
			return
		}
		server.hasProxy.Store(false)
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code == http.StatusMisdirectedRequest || w.Code == http.StatusForbidden {
			return
		}
		u, err := url.Parse("http://" + r.Host)
		if err != nil || u.Host != r.Host {
			t.Fatalf("it answers under %q, which leads elsewhere: %v, %v", r.Host, u, err)
		}
		name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		if ip, err := netip.ParseAddr(name); name != "notes.example" && name != "localhost" && !strings.HasSuffix(name, ".localhost") && (err != nil || !ip.Unmap().IsLoopback()) {
			t.Errorf("it answers under %q", r.Host)
		}
		if old {
			t.Errorf("it answers HTTP/1.0")
		}
		for line := range strings.SplitSeq(headers, "\n") {
			line = strings.ReplaceAll(strings.ToLower(strings.TrimRight(line, "\r")), "_", "-")
			for _, say := range []string{"x-forwarded", "forwarded:", "via:", "x-real-ip:", "remote-user:"} {
				if line == "" {
					return // the headers end
				}
				if strings.HasPrefix(line, say) {
					t.Errorf("it answers %q", headers)
				}
			}
		}
	})
}
