package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"minutebook/api"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/service"
)

// TestServiceIsAdministeredRunningOrNot gives every command of the service to a
// running one and again with nothing running; both print the same JSON.
func TestServiceIsAdministeredRunningOrNot(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "service", "--data", dir, "--load", annsMeetings(t, 4), "--hold", "2")
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer refusing.Close()
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", dir, "--user", "ann@acme.example").APIKey
	register(t, p.url, key, refusing.URL)

	if out := run(t, "__complete", "--data", dir, "service", "keys", "create", "--user", ""); !strings.Contains(out, "ann@acme.example\t") {
		t.Errorf("a user is completed with %q", out)
	}
	administer(t, dir, 1)
	if out := run(t, "__complete", "--data", dir, "service", "deliveries", "retry", ""); !strings.Contains(out, "\twebhook of meeting 3, ") {
		t.Errorf("a delivery is completed with %q", out)
	}
	if l := runJSON[service.Limits](t, "service", "limits", "--data", dir, "--elevated", "--window", "sliding"); !l.Elevated || l.Window != service.WindowSliding {
		t.Errorf("limits are %+v", l)
	}
	for i := range 6 { // of the running service, at once
		want := http.StatusOK
		if i == 5 {
			want = http.StatusTooManyRequests
		}
		if got := callAs(t, http.MethodGet, p.url+"/external/v1/recordings/1/summary", key, ""); got != want {
			t.Errorf("heavy call %d is answered %d, want %d", i+1, got, want)
		}
	}
	p.stop()
	administer(t, dir, 2)
	if l := runJSON[service.Limits](t, "service", "limits", "--global", "100", "--heavy", "80", "--data", dir); l.Global != 100 || l.Heavy != 80 || !l.Elevated || l.DownloadLimit != 30 || l.Window != service.WindowSliding {
		t.Errorf("limits are %+v", l)
	}
}

// TestASandboxForOthersHasNoAddressOfItsOwn asks a sandbox that listens everywhere for a
// recording: the link has the address under which it was asked.
func TestASandboxForOthersHasNoAddressOfItsOwn(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "service", "--data", dir, "--load", annsMeetings(t, 1), "--listen", "0.0.0.0:0", "--generation", "1ms")
	port, ok := strings.CutPrefix(p.url, "http://localhost:")
	if !ok {
		t.Fatalf("its first line is %q", p.url)
	}
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", dir, "--user", "ann@acme.example").APIKey
	asked := "http://127.0.0.1:" + port
	ask := func(method, path string) (d api.Download) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, asked+service.BasePath+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := ask(http.MethodPost, "/recordings/1/download")
	for d.Status == api.DownloadProcessing {
		d = ask(http.MethodGet, "/recordings/1/downloads/"+d.DownloadID)
	}
	if link := d.Video.Or(api.DownloadFile{}).URL; !strings.HasPrefix(link, asked+service.BasePath+"/media/") {
		t.Errorf("%s: the link is %q", d.Status, link)
	}
}

// TestCommandsToALoadingServiceAreToldSo gives commands to a sandbox that waits
// for its file of meetings.
func TestCommandsToALoadingServiceAreToldSo(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "meetings")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	sandbox := exec.Command("minutebook", "service", "--data", dir, "--load", file)
	if err := sandbox.Start(); err != nil {
		t.Fatal(err)
	}
	defer sandbox.Wait()
	defer sandbox.Process.Kill()
	w, err := os.OpenFile(file, os.O_WRONLY, 0) // is open when the sandbox reads it
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, args := range [][]string{{"service", "keys", "list"}, {"service", "finish"}, {"status"}} {
		out, err := exec.Command("minutebook", append(args, "--data", dir)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "still starting") || strings.Contains(string(out), "stop it") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
}

// administer gives every command once; round says how often that was done.
func administer(t *testing.T, dir string, round int) {
	t.Helper()
	data := []string{"--data", dir}
	inData := func(args ...string) []string { return append(append([]string{"service"}, args...), data...) }

	for _, state := range []string{"withheld", "restored"} {
		if rows := runJSON[[]service.Delivery](t, inData("deliveries", "list", "--state", state)...); len(rows) != 0 {
			t.Errorf("%s: %+v", state, rows)
		}
	}
	user := runJSON[api.User](t, inData("users", "create", "--user", "bob@acme.example", "--name", "Bob", "--team", "Support")...)
	if user.Email != "bob@acme.example" || user.Status != api.StatusActive {
		t.Errorf("created %+v", user)
	}
	if k := runJSON[control.NewKey](t, inData("keys", "create", "--user", "bob@acme.example")...); k.APIKey == "" {
		t.Error("no key is printed")
	}
	keys := runJSON[[]service.Key](t, inData("keys", "list", "--user", "bob@acme.example")...)
	if len(keys) != round {
		t.Fatalf("bob has keys %+v", keys)
	}
	runJSON[control.Done](t, inData("keys", "revoke", keys[round-1].ID)...)
	if keys = runJSON[[]service.Key](t, inData("keys", "list", "--user", "bob@acme.example")...); !keys[round-1].Revoked {
		t.Errorf("revoked: %+v", keys)
	}
	runJSON[control.Done](t, inData("users", "status", "--user", "bob@acme.example", "--status", "deactivated")...)
	if users := runJSON[[]api.User](t, inData("users", "list")...); len(users) != 3 || users[2].Status != api.StatusDeactivated {
		t.Errorf("users are %+v", users)
	}

	app := runJSON[control.NewApp](t, inData("apps", "create", "--name", "Notes", "--redirect-uri", redirect)...)
	if code := runJSON[control.AppCode](t, inData("apps", "authorize", "--client-id", app.ClientID, "--user", "ann@acme.example", "--redirect-uri", redirect)...); code.Code == "" {
		t.Error("no code is printed")
	}
	if apps := runJSON[[]service.App](t, inData("apps", "list")...); len(apps) != 1 || apps[0].ClientID != app.ClientID || apps[0].RedirectURIs[0] != redirect {
		t.Errorf("apps are %+v", apps)
	}
	runJSON[control.Done](t, inData("apps", "delete", app.ClientID)...)

	if f := runJSON[control.Finished](t, inData("finish")...); !f.Finished || f.RecordingID != int64(round+2) {
		t.Errorf("finished %+v", f)
	}
	hooks := runJSON[[]service.Hook](t, inData("webhooks", "list")...)
	queue := runJSON[[]service.Delivery](t, inData("deliveries", "list", "--state", "pending")...)
	if len(hooks) != 1 || len(queue) != round || queue[0].RecordingID != int64(round+2) || queue[0].Webhook != hooks[0].ID {
		t.Fatalf("webhooks %+v, waiting %+v", hooks, queue)
	}
	runJSON[control.Done](t, inData("deliveries", "retry", strconv.FormatInt(queue[0].ID, 10))...)
}

// Behind a proxy with TLS a request says http, and a link that says so is sent in clear.
func TestLinksOfTheServiceHaveThePublicAddress(t *testing.T) {
	for _, c := range []struct{ page, service, want string }{
		{"", "", ""},
		{"http://localhost:8377", "", ""},
		{"https://minutes.example", "", "https://minutes.example"},
		{"http://localhost:8377/minutes", "", "http://localhost:8377/minutes"},
		{"https://minutes.example", "https://api.example", "https://api.example"},
	} {
		cfg := config.Default()
		cfg.Web.PublicURL, cfg.Service.PublicURL = c.page, c.service
		if got := urlOfService(&cfg); got != c.want {
			t.Errorf("page %q, service %q: %q, want %q", c.page, c.service, got, c.want)
		}
	}
}
