package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/control"
	"minutebook/internal/testrun"
)

// startDepartment starts a daemon whose page is under a path of the proxy at address, with
// one meeting that is titled by the path, and returns it with the address of its page. The
// proxy takes the path off where strip is set.
func startDepartment(t *testing.T, proxy *http.ServeMux, address, path string, strip bool) (config, page string) {
	t.Helper()
	dir := t.TempDir()
	config, page = filepath.Join(dir, "config.toml"), address+path
	text := fmt.Sprintf("data_dir = %q\n[web]\naccess = \"people\"\npublic_url = %q\ntrusted_proxies = [\"127.0.0.1/32\"]\n", filepath.Join(dir, "data"), page)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	talk := filepath.Join(dir, "talk.vtt")
	if err := os.WriteFile(talk, []byte("WEBVTT\n\n00:01.000 --> 00:04.000\n<v Ada>The budget of "+path[1:]+".\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := start(t, "serve", "--create", "-c", config)
	run(t, "import", talk, "--visible-to", "ann@example.com", "-c", config)
	listens := daemon.pageAddress()
	forward := http.Handler(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", listens
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}})
	if strip {
		forward = http.StripPrefix(path, forward)
	}
	proxy.Handle(path+"/", forward)
	return config, page
}

// TestDepartmentsBehindOneProxy runs two archives under two paths of one host, behind
// net/http's reverse proxy: who signs in at one is nobody at the other, each finds its own
// meetings, and a token of one is refused by the other.
func TestDepartmentsBehindOneProxy(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	var mux http.ServeMux
	proxy := httptest.NewServer(&mux)
	defer proxy.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	ask := func(method, address, token string, form url.Values) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		client := browser
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
			client = http.DefaultClient
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Request.URL.Path + "\n" + string(body)
	}
	paths := []string{"/sales", "/legal"}
	pages, tokens := map[string]string{}, map[string]string{}
	for i, path := range paths {
		config, page := startDepartment(t, &mux, strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1), path, i == 0)
		pages[path] = page
		invited := runJSON[control.Invited](t, "user", "add", "ann@example.com", "--admin", "-c", config)
		if !strings.HasPrefix(invited.Link, page+"/invitation?secret=") {
			t.Fatalf("the invitation leads to %s", strings.Split(invited.Link, "?")[0])
		}
		_, secret, _ := strings.Cut(invited.Link, "=")
		if _, got := ask("GET", page+"/", "", nil); !strings.HasPrefix(got, path+"/login\n") {
			t.Errorf("who has signed in elsewhere sees %.200s", got)
		}
		if status, got := ask("POST", page+"/invitation", "", url.Values{"secret": {secret}, "password": {"correct horse"}, "again": {"correct horse"}}); status != 200 || !strings.HasPrefix(got, path+"/\n") {
			t.Fatalf("signing in leads to %d, %.300s", status, got)
		}
		tokens[path] = runJSON[control.NewToken](t, "token", "create", "ann@example.com", "--scope", "read", "-c", config).Secret
	}
	for i, path := range paths {
		other := paths[1-i]
		eventually(t, "a search finds the meetings of "+path+" alone", func() (bool, any) {
			_, got := ask("GET", pages[path]+"/?q=budget", "", nil)
			return strings.HasPrefix(got, path+"/\n") && strings.Contains(got, "of "+path[1:]) && !strings.Contains(got, "of "+other[1:]), got
		})
		status, got := ask("GET", pages[path]+"/api/v1/meetings", tokens[path], nil)
		_, raw, _ := strings.Cut(got, "\n")
		var answer struct{ Meetings []json.RawMessage }
		if err := json.Unmarshal([]byte(raw), &answer); status != 200 || err != nil || len(answer.Meetings) != 1 {
			t.Errorf("%s answers a token of its own with %d, %v, %s", path, status, err, got)
		}
		if status, got := ask("GET", pages[path]+"/api/v1/meetings", tokens[other], nil); status != http.StatusUnauthorized {
			t.Errorf("%s answers a token of %s with %d, %s", path, other, status, got)
		}
	}
	if status, got := ask("POST", pages["/sales"]+"/logout", "", nil); status != 200 || !strings.HasPrefix(got, "/sales/login\n") {
		t.Errorf("signing out leads to %d, %.200s", status, got)
	}
	if _, got := ask("GET", pages["/legal"]+"/", "", nil); strings.HasPrefix(got, "/legal/login\n") {
		t.Errorf("signing out at the other archive leads to %.200s", got)
	}
}
