package web

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"minutebook/internal/browsertest"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestTemplatesKeepTheBasePath reads the templates and scripts: each address goes through
// a function that puts the base path before it, or is relative to the page.
func TestTemplatesKeepTheBasePath(t *testing.T) {
	testrun.SkipUnderRace(t)
	attribute := regexp.MustCompile(`\b(?:href|src|action|formaction|data-next)="((?:\{\{[^}]*\}\}|[^"{])*)"`)
	good := regexp.MustCompile(`^(\{\{(if|else|end|with)[^}]*\}\})*(\{\{(path|asset|search) |[?#])`)
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(templateFiles, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range attribute.FindAllStringSubmatch(string(text), -1) {
			if !good.MatchString(m[1]) {
				t.Errorf("%s: write the address with {{path …}}: %s", file, m[0])
			}
		}
	}
	bare := regexp.MustCompile("[\"'`(]/[a-z]+[\"'`/?]")
	scripts, err := fs.Glob(staticFiles, "static/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, file := range scripts {
		text, err := fs.ReadFile(staticFiles, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range bare.FindAllString(string(text), -1) {
			t.Errorf("%s: write %s after document.documentElement.dataset.base", file, address)
		}
	}
}

// proxiedSite is a site behind a proxy under a path. Requests beside the path are noted.
type proxiedSite struct {
	*entrySite
	mu     sync.Mutex
	beside []string
}

func newProxiedSite(t *testing.T, strip bool) *proxiedSite {
	p := &proxiedSite{}
	proxy := httptest.NewUnstartedServer(nil)
	p.entrySite = newEntrySite(t, func(e *Entry) {
		e.PublicURL.Host = "localhost" + proxy.Listener.Addr().String()[len("127.0.0.1"):]
		e.PublicURL.Path = "/minutebook"
	})
	behind := &url.URL{Scheme: "http", Host: p.Listener.Addr().String()}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}}
	var inside http.Handler = forward
	if strip {
		inside = http.StripPrefix("/minutebook", forward)
	}
	proxy.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/minutebook" || strings.HasPrefix(r.URL.Path, "/minutebook/") {
			inside.ServeHTTP(w, r)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.beside = append(p.beside, r.URL.Path+" "+r.Header.Get("Cookie"))
	})
	proxy.Start()
	t.Cleanup(proxy.Close)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.beside) > 0 {
			t.Errorf("asked for beside the path: %q", p.beside)
		}
	})
	return p
}

// TestPeopleWithSlashesBehindAProxy opens the pages of people by the path as nginx sends it
// when it takes the base path off, without escaped slashes.
func TestPeopleWithSlashesBehindAProxy(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"calendar_invitees":[{"name":"HR/Legal"},{"name":"a//b"},{"name":"/x"},{"name":"y/"},{"name":"u/../v"},{"name":".."}]`))
	for name, want := range map[string]string{"HR/Legal": "/people/HR/Legal", "a//b": "/people/a%2F%2Fb", "/x": "/people/%2Fx", "y/": "/people/y%2F", "u/../v": "/people/u%2F..%2Fv", "..": "/people/..%20"} {
		address := personAddress(name)
		if address != want {
			t.Errorf("%s is at %s, want %s", name, address, want)
		}
		s.shows(200, address, "Walrus")
	}
	s.shows(200, "/api/v1/people/HR/Legal", `"name":"HR/Legal"`)
}

// TestBasePathBehindAProxy follows every link of the page behind a proxy, whether the
// proxy takes the path off or not.
func TestBasePathBehindAProxy(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, strip := range map[string]bool{"stripped": true, "kept": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newProxiedSite(t, strip)
			s.attachVideo(s.ids[0])
			row, err := s.archive.VisibleRow(t.Context(), owner().Viewer, s.ids[0])
			if err != nil {
				t.Fatal(err)
			}
			_, secret := s.add(row.RecordedBy.Email, true)
			resp, _ := s.do("GET", "/status", nil)
			if to := resp.Header.Get("Location"); to != "/minutebook/login?next=%2Fstatus" {
				t.Errorf("signing in is at %q", to)
			}
			resp, _ = s.do("POST", "/invitation", url.Values{"secret": {secret}, "password": {goodPassword}, "again": {goodPassword}})
			if to := resp.Header.Get("Location"); resp.StatusCode != 303 || to != "/minutebook/" {
				t.Fatalf("signed in: %d, %q", resp.StatusCode, to)
			}
			if c := resp.Cookies(); len(c) != 1 || c[0].Path != "/minutebook" {
				t.Errorf("cookies %v", c)
			}
			s.crawl("/", "/help", "/me", "/admin/people", "/admin/audit", "/?q=budget", "/nothing", "/api/v1/me")
			if _, body := s.do("GET", "/api/v1/openapi.yaml", nil); !strings.Contains(body, "- url: /minutebook\n") {
				t.Error("the description names another server")
			}
			media := fmt.Sprintf("/api/v1/meetings/%d/media", s.ids[0])
			if _, body := s.do("GET", media, nil); !strings.Contains(body, `"video":"/minutebook`+media) || !strings.Contains(body, `"captions":"/minutebook/meetings/`) {
				t.Errorf("the recording is beside the path: %s", body)
			}
			resp, _ = s.do("GET", "//status", nil) // the mux cleans the path
			if to := resp.Header.Get("Location"); resp.StatusCode < 400 && !strings.HasPrefix(to, "/minutebook/") {
				t.Errorf("//status: %d, %q", resp.StatusCode, to)
			}
			resp, _ = s.do("POST", "/logout", nil)
			if to, clear := resp.Header.Get("Location"), resp.Header.Get("Clear-Site-Data"); to != "/minutebook/login" || clear != "" {
				t.Errorf("signed out: %q, clears %q of the whole host", to, clear)
			}
		})
	}
}

// crawl gets pages and two addresses of each kind that they link to on this host: none may
// be beside the base path, nor missing but for /nothing.
func (s *proxiedSite) crawl(pages ...string) {
	s.t.Helper()
	seen, kinds := map[string]bool{}, map[string]int{}
	for len(pages) > 0 {
		page := pages[0]
		pages = pages[1:]
		kind := regexp.MustCompile(`[0-9]+|=[^&]*`).ReplaceAllString(page, "")
		if kinds[kind]++; seen[page] || kinds[kind] > 2 {
			continue
		}
		seen[page] = true
		resp, body := s.do("GET", page, nil)
		if resp.StatusCode >= 400 && page != "/nothing" {
			s.t.Errorf("%s: status %d", page, resp.StatusCode)
		}
		at := resp.Request.URL
		if to := resp.Header.Get("Location"); to != "" {
			pages = append(pages, s.inside(page, at, to)...)
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			for _, to := range links(body) {
				pages = append(pages, s.inside(page, at, to)...)
			}
		}
	}
	if len(seen) < 25 {
		s.t.Errorf("only %d addresses were found", len(seen))
	}
}

// inside returns an address of this host without the base path, or none for another host.
func (s *proxiedSite) inside(page string, at *url.URL, to string) []string {
	u, err := at.Parse(to)
	if err != nil {
		s.t.Errorf("%s links to %q: %v", page, to, err)
		return nil
	}
	if u.Host != at.Host {
		return nil
	}
	rest, ok := strings.CutPrefix(u.Path, "/minutebook/")
	if !ok {
		s.t.Errorf("%s links to %q, beside the base path", page, to)
		return nil
	}
	u.Path = "/" + rest
	return []string{u.RequestURI()}
}

// links returns the addresses that a page has in its elements, but for those that
// forms are posted to.
func links(body string) []string {
	var all []string
	for z := html.NewTokenizer(strings.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			attributes := map[string]string{}
			for _, a := range token.Attr {
				attributes[a.Key] = a.Val
			}
			for _, key := range []string{"href", "src", "action", "formaction", "data-next", "data-base"} {
				if to, ok := attributes[key]; ok && attributes["method"] != "post" {
					all = append(all, to)
				}
			}
		}
	}
}

// TestBasePathRefusesAnAmbiguousOne makes pages whose base path begins as their own
// addresses do.
func TestBasePathRefusesAnAmbiguousOne(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	people, err := access.Open(t.Context(), access.Options{Archive: s.archive, Now: s.options().Now})
	if err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{"/minutebook": true, "/tools/meetings": true, "/meetings": false, "/api/v1": false, "/external": false, "/mcp": false} {
		o := s.options()
		o.Identify, o.Entry = nil, Entry{People: people, PublicURL: &url.URL{Scheme: "https", Host: "example.org", Path: path}, Passwords: true}
		if _, err := New(o); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// browserStaysUnderTheBasePath signs in, plays and signs out behind a proxy.
func browserStaysUnderTheBasePath(t *testing.T, c *browsertest.Chromium) {
	s := newProxiedSite(t, true)
	s.attachVideo(s.ids...)
	_, secret := s.add("ann@acme.example", true)
	b := c.Open(t, s.URL[:len(s.URL)-len("/minutebook")])
	addAuthenticator(t, b)
	b.Do(chromedp.Navigate(s.URL + access.InvitationPath + secret))
	b.Do(chromedp.Click(chromedp.CSS(`[data-passkey=invitation]`)))
	b.WaitFor(`location.pathname === "/minutebook/" && !!document.querySelector("nav [href='/minutebook/me']")`)
	s.apply(meeting(424242, "Just delivered", "2026-07-01T11:00:00Z", `"recorded_by":{"name":"Ann","email":"ann@acme.example"}`))
	b.WaitFor(`document.querySelector("main")?.textContent.includes("Just delivered")`)
	b.Do(chromedp.Click(chromedp.CSS("main a.row")))
	b.WaitFor(`location.pathname === "/minutebook/meetings/424242"`)
	s.attachVideo(424242)
	b.WaitFor(`document.querySelector("#media")?.readyState >= 1`)
	b.Do(chromedp.KeyEvent("?"))
	b.WaitFor(`location.pathname === "/minutebook/help"`)
	b.Do(chromedp.Navigate(s.URL + "/me"))
	b.Do(chromedp.Click(chromedp.CSS(`[action="/minutebook/logout"] button`)))
	b.WaitFor(`location.pathname === "/minutebook/login"`)
}
