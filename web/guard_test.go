package web

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"minutebook/internal/testrun"
)

func TestForeignHostsAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost": 200, "LOCALHOST.:99": 200, "minutebook.localhost": 200,
		"[::1]:8080": 200, "notes.example": 200, "notes.example:443": 200, "NOTES.example.": 200,
		"evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421,
		"10.0.0.7": 421, "evilnotes.example": 421, "notes.example.evil.example": 421,
	} {
		for _, address := range []string{"/", "/api/v1/meetings", "/metrics", "/api/v1/meetings/1/media/video"} {
			resp, body := s.get(address, "Host", host)
			if want == 421 && (resp.StatusCode != 421 || !strings.Contains(body, "hosts under [web]")) {
				t.Errorf("Host %s at %s: %d, want it refused with a hint", host, address, resp.StatusCode)
			}
			if want == 200 && resp.StatusCode == 421 {
				t.Errorf("Host %s at %s is refused", host, address)
			}
		}
	}
}

// TestAddressesAreHosts configures an address in each form that hosts takes.
func TestAddressesAreHosts(t *testing.T) {
	for _, configured := range []string{"2001:db8::5", "[2001:db8::5]", "2001:DB8:0::5", "[2001:DB8:0:0:0:0:0:5%eth0]"} {
		hosts := hostNames(&Options{Hosts: []string{configured}})
		if !hostAllowed(&http.Request{Host: "[2001:db8::5]:8377"}, hosts) || hostAllowed(&http.Request{Host: "[2001:db8::6]"}, hosts) {
			t.Errorf("hosts = [%q] allows %v", configured, hosts)
		}
	}
}

// TestOddHostsAreRefused: each of them has an allowed name in it.
func TestOddHostsAreRefused(t *testing.T) {
	hosts := map[string]bool{"notes.example": true, "fd00::7": true}
	for host, want := range map[string]bool{
		"notes.example": true, "Notes.Example.": true, "notes.example.:443": true, "a_b-c.localhost": true, "127.8.9.10:1": true,
		"[::1]": true, "[::1]:80": true, "[::FFFF:127.0.0.1]": true, "[fd00::7]": true, "[FD00::7]:80": true,
		"": false, ":80": false, ".": false, "localhost:": false, "localhost..": false, ".localhost": false, "..localhost": false,
		"localhost:80@evil.example": false, "localhost@evil.example": false, "evil@localhost": false, "a:b@localhost:80": false, "localhost:80:80": false,
		"localhost:80,evil.example": false, "localhost:80 evil.example": false, "localhost:-1": false, "localhost:0x50": false, "localhost:123456": false, "localhost:８０": false,
		"evil.example/.localhost": false, "evil.example?.localhost": false, "evil.example#.localhost": false, `evil.example\.localhost`: false, "a;b.localhost": false, "a%2e.localhost": false, "<b>.localhost": false,
		"[localhost]": false, "[127.0.0.1]": false, "[[::1]]": false, "[::1": false, "::1]": false, "::1": false, "[::1]evil.example": false, "[::1]@evil.example": false, "[::1%25lo]": false, "[::1%@evil.example]": false,
		"2130706433": false, "0x7f.1": false, "127.1": false, "0177.0.0.1": false, "localhost\n": false, "\tlocalhost": false, "ｌocalhost": false,
	} {
		if got := hostAllowed(&http.Request{Host: host}, hosts); got != want {
			t.Errorf("%q is allowed: %v", host, got)
		}
	}
}

func TestAddressOfTheConnectionIsAHost(t *testing.T) {
	testrun.SkipUnderRace(t)
	r := httptest.NewRequest("GET", "http://192.168.1.5:8080/", nil)
	if hostAllowed(r, nil) {
		t.Error("an address that nothing is known of is let in")
	}
	r.Host = "0.0.0.0"
	if hostAllowed(r, nil) {
		t.Error("the unspecified address is let in")
	}
}

// A proxy on this machine can write a loopback name into Host. Where nobody is asked who
// they are, it would let everybody in.
func TestProxiesReachNoOwner(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	o := s.options()
	o.Identify = nil
	page, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via",
		"X-Forwarded", "X-Forwarded-Server", "X-Forwarded-Port", "X-Forwarded-User", "X_Forwarded_For", "X-Original-Host", "X-Client-IP", "True-Client-IP",
		"CF-Connecting-IP", "CDN-Loop", "Remote-User", "Remote_User"} {
		for _, address := range []string{"/", "/api/v1/meetings", "/mcp", "/metrics"} {
			r := httptest.NewRequest("GET", "http://127.0.0.1:8377"+address, nil)
			if header != "" {
				r.Header.Set(header, "192.0.2.1")
			}
			w := httptest.NewRecorder()
			page.ServeHTTP(w, r)
			if refused := w.Code == 403; refused != (header != "") {
				t.Errorf("%s with %q: %d", address, header, w.Code)
			}
		}
	}
}

// nginx says nothing of itself where its configuration has proxy_pass alone: it writes the
// Host, and before 1.29.7 speaks HTTP/1.0, or with proxy_http_version 1.1 ends each connection.
func TestSilentProxiesReachNoOwner(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	o := s.options()
	o.Identify = nil
	for text, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nAccept-Language: en\r\n\r\n":                      200, // a browser
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nConnection: close\r\n\r\n":                        200, // a script
		"GET / HTTP/1.0\r\nHost: 127.0.0.1:8377\r\nConnection: close\r\n\r\n":                        403,
		"GET / HTTP/1.0\r\nHost: 127.0.0.1:8377\r\nConnection: keep-alive\r\n\r\n":                   403,
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nConnection: close\r\nAccept-Language: en\r\n\r\n": 403,
		// Chromium within the page, itself and through a proxy that writes the Host
		"GET /now HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nConnection: keep-alive\r\nSec-Fetch-Site: same-origin\r\nReferer: http://127.0.0.1:8377/\r\n\r\n":    200,
		"GET /now HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nConnection: keep-alive\r\nSec-Fetch-Site: cross-site\r\nReferer: https://wiki.example/\r\n\r\n":      200,
		"GET /now HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nSec-Fetch-Site: same-origin\r\nReferer: https://minutes.example/\r\n\r\n":                            403,
		"POST /now/looked HTTP/1.1\r\nHost: 127.0.0.1:8377\r\nSec-Fetch-Site: same-origin\r\nOrigin: https://minutes.example\r\nContent-Length: 0\r\n\r\n": 403,
	} {
		page, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if page.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d, want %d", text, w.Code, want)
		}
	}
}

// TestAProxyThatObeysClosesTheOwnersPage asks for the path to which each answer of an owner's page
// leads nginx, as it then does in place of delivering the answer: nobody is answered any more.
func TestAProxyThatObeysClosesTheOwnersPage(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	for _, asksNobody := range []bool{true, false} {
		o := s.options()
		if asksNobody {
			o.Identify = nil
		}
		page, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:8377"+path, nil))
			return w
		}
		paths, instead := []string{"/", "/status", "/api/v1/meetings", "/nothing", "/meetings/404"}, ""
		for _, path := range paths {
			if instead = get(path).Header().Get("X-Accel-Redirect"); (instead != "") != asksNobody {
				t.Errorf("%s leads nginx to %q", path, instead)
			}
		}
		if !asksNobody {
			continue
		}
		for _, path := range append([]string{instead}, paths...) {
			if w := get(path); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "restart minutebook") {
				t.Errorf("%s afterwards: %d %.300s", path, w.Code, w.Body)
			}
		}
	}
}

// TestNginxDeliversNoOwnersPage runs nginx before the page of an archive that asks nobody, with
// headers as nginx from 1.29.7 on sends them: a program that asks through it gets no answer of
// the page, and then nobody does. People who sign in come through.
func TestNginxDeliversNoOwnersPage(t *testing.T) {
	testrun.SkipUnderRace(t)
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("this test needs nginx, whose package would start a server; TestAProxyThatObeysClosesTheOwnersPage has the page's part")
	}
	s := newSite(t)
	for name, want := range map[string]int{"people": 200, "owner": 403} {
		t.Run(name, func(t *testing.T) {
			o := s.options()
			if name == "owner" {
				o.Identify = nil
			}
			handler, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			page := httptest.NewServer(handler)
			defer page.Close()
			proxy := startNginx(t, nginx, page.URL)
			direct, answer := getText(t, page.Client(), page.URL+"/api/v1/meetings")
			if direct.StatusCode != 200 || !strings.Contains(answer, `"meetings"`) {
				t.Fatalf("without a proxy: %d %.300s", direct.StatusCode, answer)
			}
			through, answer := getText(t, proxy, "http://minutes.example/api/v1/meetings")
			if through.StatusCode != want || strings.Contains(answer, `"meetings"`) != (want == 200) {
				t.Errorf("through nginx: %d %.300s", through.StatusCode, answer)
			}
			direct, answer = getText(t, page.Client(), page.URL+"/")
			if direct.StatusCode != want || strings.Contains(answer, "restart minutebook") != (want == 403) {
				t.Errorf("afterwards without nginx: %d %.300s", direct.StatusCode, answer)
			}
		})
	}
}

// getText returns the answer at an address.
func getText(t *testing.T, client *http.Client, address string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// startNginx starts an nginx before the page and returns a client whose requests go through it.
func startNginx(t *testing.T, program, page string) *http.Client {
	t.Helper()
	dir := t.TempDir()
	text := `daemon off; master_process off; pid nginx.pid; error_log stderr; events {}
http {
	access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	server {
		listen unix:nginx.sock;
		location / { proxy_pass ` + page + `; proxy_http_version 1.1; proxy_set_header Connection ""; }
	}
}`
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	cmd.Dir = dir
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	socket := filepath.Join(dir, "nginx.sock")
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not answer: %v: %s", err, log.String())
		}
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestPagesAskNobodyElse looks for the things the policy would block anyway: inline
// code and styles, and requests to other hosts.
func TestPagesAskNobodyElse(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	s.attachVideo(s.ids...)
	inline := regexp.MustCompile(`(?i)<script(?:\s+[^>]*)?>[^<]|\sstyle\s*=|\son[a-z]+\s*=\s*"|<style`)
	foreign := regexp.MustCompile(`(?i)\s(?:src|srcset|poster|action|data)\s*=\s*"(?:https?:)?//|<link[^>]+href="(?:https?:)?//|@import|url\(\s*['"]?(?:https?:)?//`)
	pages := []string{"/", "/?q=budget", "/?q=nope:", "/actions", "/people", "/people/aoife.brennan@tidewell.example", "/calendar", "/calendar/2026-06", "/now", "/status", "/help", "/nothing",
		"/meetings/" + itoa(s.ids[0]) + "?t=100&q=budget", s.assetAddress("style.css")}
	for _, page := range pages {
		resp, body := s.get(page)
		if m := inline.FindString(body); m != "" {
			t.Errorf("%s has inline code or style: %q", page, m)
		}
		if m := foreign.FindString(body); m != "" {
			t.Errorf("%s asks another host: %q", page, m)
		}
		h := resp.Header
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || !strings.Contains(csp, "; require-trusted-types-for 'script'; trusted-types minutebook") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", page, csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", page, name, h.Get(name), want)
			}
		}
	}
}

// assetAddress is where a page finds an asset.
func (s *site) assetAddress(name string) string {
	_, body := s.get("/help")
	return regexp.MustCompile(`/static/[0-9a-f]+/` + regexp.QuoteMeta(name)).FindString(body)
}

func TestAssetsAreKeptForGood(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", "fonts/inter-latin.woff2": "font/woff2"} {
		resp, body := s.get(s.assetAddress(name))
		h := resp.Header
		if resp.StatusCode != 200 || h.Get("Content-Type") != kind || !strings.Contains(h.Get("Cache-Control"), "immutable") || body == "" {
			t.Errorf("%s: %d %s %s", name, resp.StatusCode, h.Get("Content-Type"), h.Get("Cache-Control"))
		}
	}
	if resp, _ := s.get("/static/000000000000/app.js"); resp.StatusCode != 404 {
		t.Errorf("an asset of another build: %d, want 404", resp.StatusCode)
	}
}

// TestTheOwnersMonitorIsAskedByAddress asks the listener for health and metrics of an archive
// that has one owner, whose hosts have no names: it says how it is asked, and answers proxies
// and old clients, such as the checks of HAProxy.
func TestTheOwnersMonitorIsAskedByAddress(t *testing.T) {
	testrun.SkipUnderRace(t)
	o := newSite(t).options()
	o.Identify, o.Hosts, o.Registry = nil, nil, prometheus.NewRegistry()
	monitor := httptest.NewServer(NewMonitor(o))
	defer monitor.Close()
	address := monitor.Listener.Addr().String()
	for request, want := range map[string]string{
		"GET /metrics HTTP/1.1\r\nHost: " + address + "\r\nX-Forwarded-For: 192.0.2.1\r\n": " 200 ",
		"GET /healthz HTTP/1.0\r\nHost: " + address + "\r\n":                               " 200 ",
		"GET /metrics HTTP/1.1\r\nHost: minutes.example\r\n":                               "ask by its IP address",
		"GET /metrics HTTP/1.1\r\nHost: minutes.example\r\nX-Forwarded-For: 192.0.2.1\r\n": " 421 ",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, request+"Connection: close\r\n\r\n")
		answer, failed := io.ReadAll(conn)
		conn.Close()
		if err != nil || failed != nil || !strings.Contains(string(answer), want) || strings.Contains(string(answer), "hosts under [web]") {
			t.Errorf("%q: %s, %v, %v; want %s", request, answer, err, failed, want)
		}
	}
}
