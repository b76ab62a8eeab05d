package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/sample"
	"minutebook/service"
)

// startOAuthService starts a service with an OAuth app. It returns it with the
// configuration of an account that connects through the app, after the settings
// given, and the key of a person who may allow that.
func startOAuthService(t *testing.T, settings string) (service *program, config, key string) {
	t.Helper()
	upstream, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "meetings.ndjson")
	raw, err := io.ReadAll(sample.NDJSON(sample.Base()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	service = start(t, "service", "--data", upstream, "--load", file)
	app := runJSON[control.NewApp](t, "service", "apps", "create", "--data", upstream, "--name", "Minutebook", "--redirect-uri", "https://minutes.example/oauth")
	var first api.Meeting
	if err := first.UnmarshalJSON(sample.All()[0]); err != nil {
		t.Fatal(err)
	}
	key = runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", first.RecordedBy.Email).APIKey
	config = filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[media]\ndownload = false\n%s[[accounts]]\nname = \"work\"\nbase_url = %q\n[accounts.oauth]\n"+
		"client_id = %q\nclient_secret = %q\nredirect_url = \"https://minutes.example/oauth\"\n",
		data, settings, service.url+"/external/v1", app.ClientID, app.ClientSecret)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return service, config, key
}

// A person connects an account in the browser: the service sends them back to
// the daemon, the login ends by itself, and the account, suspended until then, goes
// on.
func TestAnAccountIsConnectedInTheBrowser(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	receiver := testrun.FreeAddress(t)
	service, config, key := startOAuthService(t, fmt.Sprintf("[receiver]\nlisten = %q\n[sync]\ncatch_up = \"@every 1s\"\n", receiver))
	daemon := start(t, "serve", "-c", config, "--create")
	for _, args := range [][]string{{"auth", "status", "work"}, {"auth", "status"}} {
		cmd := exec.Command("minutebook", append(args, "-c", config)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "work is not connected") {
			t.Errorf("%v before anybody allowed it: exit code %d, %s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	login := exec.Command("minutebook", "auth", "login", "work", "-c", config)
	var asked strings.Builder
	login.Stderr = &asked // and nothing as standard input, as in docker exec
	stdout, err := login.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	back := allow(t, strings.TrimSpace(address), key)
	if page := get(t, "http://"+receiver+"/oauth?"+back); !strings.Contains(page, "work is connected") {
		t.Errorf("the browser shows %s", page)
	}
	if err := login.Wait(); err != nil || strings.Contains(asked.String(), "paste") {
		t.Errorf("auth login without a terminal: %v, %s", err, asked.String())
	}
	if s := runJSON[control.AuthAccount](t, "auth", "status", "work", "-c", config); !s.Connected || s.Expires.Before(time.Now()) {
		t.Errorf("connected, but it says %+v", s)
	}
	if l := runJSON[control.AuthList](t, "auth", "status", "-c", config); len(l.Accounts) != 1 || l.Accounts[0].Account != "work" || !l.Accounts[0].Connected {
		t.Errorf("all accounts: %+v", l)
	}
	eventually(t, "transcripts arrive", func() (bool, any) {
		s := runJSON[control.StatusResult](t, "status", "-c", config)
		return s.Meetings > 0 && s.WithTranscript > 0, s
	})
	removeApp(t, service, config)
	daemon.stop()
	service.stop()
}

// removeApp removes the app at the service while the account is connected: auth status and
// doctor say that the service refuses it, and speak of the app and not of a key.
func removeApp(t *testing.T, upstream *program, config string) {
	t.Helper()
	apps := runJSON[[]service.App](t, "service", "apps", "list", "--data", upstream.cmd.Args[3])
	run(t, "service", "apps", "delete", apps[0].ClientID, "--data", upstream.cmd.Args[3])
	for _, args := range [][]string{{"auth", "status", "work"}, {"auth", "status"}, {"doctor"}} {
		want := map[string]int{"auth": notConnectedCode, "doctor": exitDoctorError}[args[0]]
		eventually(t, "the service refuses the account", func() (bool, any) {
			cmd := exec.Command("minutebook", append(args, "-c", config)...)
			out, _ := cmd.CombinedOutput()
			text := string(out)
			return cmd.ProcessState.ExitCode() == want && strings.Contains(text, "client_id") && !strings.Contains(text, "api_key"), text
		})
	}
}

// allow answers the page of consent and returns the query of the address that
// the service sends the browser to.
func allow(t *testing.T, address, key string) string {
	t.Helper()
	get(t, address)
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	form := u.Query() // the page's hidden fields
	form.Set("answer", "allow")
	form.Set("api_key", key)
	resp, err := browser.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil || to.Host != "minutes.example" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("answered %s to %v: %.300s", resp.Status, to, body)
	}
	return to.RawQuery
}

// answers are those of a daemon to one operation after the other.
type answers func(operation string) any

// Call implements [control.Caller].
func (a answers) Call(_ context.Context, name string, _ json.RawMessage, _ func(json.RawMessage) error) (json.RawMessage, error) {
	return json.Marshal(a(name))
}

// TestALoginWaitsForItsConsent connects an account again that is connected already, and whose
// token is renewed while the person is at the browser.
func TestALoginWaitsForItsConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		stdin, paste := io.Pipe()
		defer paste.Close()
		m := &Main{Stdin: stdin, Stdout: io.Discard, Stderr: &said}
		asked := 0
		err := m.login(t.Context(), answers(func(operation string) any {
			if operation == "auth.begin" {
				return control.AuthBegun{URL: "https://service.example/oauth2/authorize"}
			}
			asked++
			status := api.OAuthStatus{Connected: true, Obtained: time.Unix(int64(asked), 0), Connection: "first"} // renewed each time
			if asked == 5 {
				status.Connection = "second"
			}
			return control.AuthAccount{Account: "work", OAuthStatus: status}
		}), control.AuthRequest{Account: "work"})
		if err != nil || asked != 5 || !strings.Contains(said.String(), "connected already") || !strings.Contains(said.String(), "account work is connected\n") {
			t.Errorf("ended at the answer %d, want 5: %v, %s", asked, err, said.String())
		}
	})
}
