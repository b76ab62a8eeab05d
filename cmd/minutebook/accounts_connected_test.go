package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/sample"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// TestPeopleConnectTheirOwnAccounts connects an account on the page of a running daemon,
// which reads it at once, is killed and goes on; the removal of the person ends it. The key
// is in no file, no log and no backup.
func TestPeopleConnectTheirOwnAccounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream, dir := t.TempDir(), t.TempDir()
	meetings, config := filepath.Join(dir, "meetings.ndjson"), filepath.Join(dir, "config.toml")
	raw, err := io.ReadAll(sample.NDJSON(sample.Base()))
	if err == nil {
		err = os.WriteFile(meetings, raw, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "accounts.key"), bytes.Repeat([]byte("0f"), 32), 0o600)
	}
	var first api.Meeting
	if err == nil {
		err = first.UnmarshalJSON(sample.All()[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	email := first.RecordedBy.Email
	service := start(t, "service", "--data", upstream, "--load", meetings)
	key := runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", email).APIKey
	text := fmt.Sprintf("data_dir = \"data\"\n[media]\ndownload = false\n[web]\naccess = \"people\"\npublic_url = \"http://localhost:8377\"\n"+
		"[web.accounts]\nkey_file = \"accounts.key\"\nbase_url = %q\n", service.url+"/external/v1")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := start(t, "serve", "-c", config, "--create")
	run(t, "user", "add", "boss@example.com", "--admin", "-c", config)
	browser := acceptInvitation(t, daemon, runJSON[control.Invited](t, "user", "add", email, "-c", config).Link)
	if page := browser.post(t, "/me/account/key", "key", "wrong"); !strings.Contains(page, "The service refuses it") {
		t.Errorf("a wrong key: %s", page)
	}
	if page := browser.post(t, "/me/account/key", "key", key); !strings.Contains(page, "Your account is connected") {
		t.Fatalf("the right key: %s", page)
	}
	people := runJSON[[]control.ListedPerson](t, "user", "list", "-c", config)
	if len(people) != 2 || people[1].Account == nil || people[1].Account.Parked != "" {
		t.Fatalf("people: %+v", people)
	}
	isRead := func() (bool, any) {
		s := runJSON[control.StatusResult](t, "status", "-c", config)
		return len(s.Accounts) == 1 && s.Accounts[0].Name == people[1].Account.Name && s.Meetings > 0 && s.WithTranscript > 0, s
	}
	eventually(t, "the connected account is read", isRead)
	daemon.kill()
	again := start(t, "serve", "-c", config)
	eventually(t, "the account is read after a kill", isRead)
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	run(t, "backup", backup, "-c", config)
	run(t, "user", "remove", email, "-c", config)
	eventually(t, "the account of a removed person is parked", func() (bool, any) {
		s := runJSON[control.StatusResult](t, "status", "-c", config)
		return len(s.Accounts) == 0 && s.NotWatched > 0, s
	})
	again.stop()
	run(t, "restore", backup, "--data", restored)
	if parked := runJSON[[]control.ListedPerson](t, "user", "list", "--data", restored); len(parked) != 2 || parked[1].Account == nil ||
		!strings.Contains(parked[1].Account.Parked, "no key") {
		t.Errorf("restored without the key: %+v", parked)
	}
	for _, folder := range []string{dir, backup, restored} {
		findNoSecret(t, folder, key)
	}
	if log := daemon.log() + again.log(); strings.Contains(log, key) || strings.Contains(log, "0f0f0f") {
		t.Error("a secret is in the log")
	}
	service.stop()
}

// TestKilledWhileAnAccountIsTried kills the daemon while it waits for the service: nothing
// is connected, and the key is in no file.
func TestKilledWhileAnAccountIsTried(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const key = "a-key-that-is-being-tried-0123456789"
	dir, asked := t.TempDir(), make(chan string, 10)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("X-Api-Key")
		<-r.Context().Done()
	}))
	defer service.Close()
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("data_dir = \"data\"\n[web]\naccess = \"people\"\npublic_url = \"http://localhost:8377\"\n"+
		"[web.accounts]\nkey_file = \"accounts.key\"\nbase_url = %q\n", service.URL+"/external/v1")
	err := os.WriteFile(config, []byte(text), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "accounts.key"), bytes.Repeat([]byte("0f"), 32), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	daemon := start(t, "serve", "-c", config, "--create")
	browser := acceptInvitation(t, daemon, runJSON[control.Invited](t, "user", "add", "ann@example.com", "--admin", "-c", config).Link)
	answered := make(chan error, 1)
	go func() {
		resp, err := browser.PostForm(browser.url+"/me/account/key", url.Values{"key": {key}})
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()
	if got := <-asked; got != key {
		t.Errorf("the service is asked with %q", got)
	}
	daemon.kill()
	if err := <-answered; err == nil {
		t.Error("a killed daemon has answered")
	}
	again := start(t, "serve", "-c", config)
	if people := runJSON[[]control.ListedPerson](t, "user", "list", "-c", config); len(people) != 1 || people[0].Account != nil {
		t.Errorf("after the kill: %+v", people)
	}
	again.stop()
	run(t, "verify", "-c", config)
	findNoSecret(t, dir, key)
}

// TestADeactivatedPersonIsOut has the service deactivate somebody whose account a running
// daemon reads: by the next list of users the account is parked, and sessions and tokens
// open nothing until the person is active again.
func TestADeactivatedPersonIsOut(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream := t.TempDir()
	service := start(t, "service", "--data", upstream)
	run(t, "service", "users", "create", "--data", upstream, "--user", "boss@acme.example", "--admin")
	run(t, "service", "users", "create", "--data", upstream, "--user", "ann@acme.example")
	bossKey := runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", "boss@acme.example").APIKey
	annKey := runJSON[control.NewKey](t, "service", "keys", "create", "--data", upstream, "--user", "ann@acme.example").APIKey

	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen, cfg.Web.Access, cfg.Web.PublicURL = t.TempDir(), "127.0.0.1:0", config.AccessPeople, "http://localhost:8377"
	cfg.Web.Accounts = config.OwnAccounts{Keys: strings.Repeat("0f", 32), BaseURL: service.url + "/external/v1"}
	cfg.Accounts = []config.Account{{Name: "boss", BaseURL: service.url + "/external/v1", APIKey: bossKey, Email: "boss@acme.example"}}
	ctx, cancel := context.WithCancel(context.Background())
	d, err := startDaemon(ctx, &cfg, zerolog.Nop(), appOptions{Create: true, ConnectedInterval: 20 * time.Millisecond})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	runDaemon(t, ctx, cancel, d)
	people, err := d.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ann, err := people.AddPerson(t.Context(), access.ActorCommand, "ann@acme.example", "Ann", false)
	if err != nil {
		t.Fatal(err)
	}
	account, err := people.Connect(t.Context(), ann.Actor(), access.Account{Person: ann.ID, Address: ann.Address(), Kind: access.AccountKey, BaseURL: service.url + "/external/v1"}, []byte(annKey))
	if err != nil {
		t.Fatal(err)
	}
	enter := func() (session, token string) {
		p, err := people.Person(t.Context(), ann.ID)
		if err == nil {
			session, _, err = people.BeginSession(t.Context(), p, access.MethodPassword)
		}
		if err == nil {
			token, _, err = people.CreateToken(t.Context(), p.Actor(), p.ID, "x", []access.Scope{access.ScopeRead}, time.Now().Add(time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
		return session, token
	}
	session, token := enter()
	want := func(when string, isIn bool) {
		t.Helper()
		eventually(t, "the account is read or parked "+when, func() (bool, any) {
			s, err := d.syncer.Status(t.Context())
			return err == nil && slices.ContainsFunc(s.Accounts, func(a syncer.AccountStatus) bool { return a.Name == account.Name }) == isIn, s.Accounts
		})
		for name, header := range map[string][2]string{"session": {"Cookie", "minutebook=" + session}, "token": {"Authorization", "Bearer " + token}} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.webListener.Addr().String()+"/api/v1/me", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "localhost:8377"
			r.Header.Set(header[0], header[1])
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if (resp.StatusCode == http.StatusOK) != isIn || !isIn && resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: the %s is answered %s", when, name, resp.Status)
			}
		}
	}
	change := func(status string) {
		t.Helper()
		run(t, "service", "users", "status", "--data", upstream, "--user", "ann@acme.example", "--status", status)
		changed := time.Now()
		eventually(t, "the directory is read after the change", func() (bool, any) { // one that began before it may run still
			if err := d.syncer.RunJob(t.Context(), "boss", syncer.JobDirectory); err != nil {
				t.Fatal(err)
			}
			s, err := d.syncer.Status(t.Context())
			return err == nil && slices.ContainsFunc(s.Accounts, func(a syncer.AccountStatus) bool {
				return a.Name == "boss" && a.LastSuccess[syncer.JobDirectory].After(changed)
			}), s.Accounts
		})
	}
	want("at first", true)
	change(api.StatusDeactivated)
	want("deactivated", false)
	change(api.StatusActive)
	want("active again", true)
	service.stop()
}

// signedIn is the browser of a person.
type signedIn struct {
	http.Client
	url string
}

// acceptInvitation sets a password by the link of an invitation.
func acceptInvitation(t *testing.T, daemon *program, link string) *signedIn {
	t.Helper()
	_, secret, ok := strings.Cut(link, access.InvitationPath)
	jar, err := cookiejar.New(nil)
	if err != nil || !ok {
		t.Fatalf("the link %q, %v", link, err)
	}
	b := &signedIn{http.Client{Jar: jar}, strings.Replace("http://"+daemon.pageAddress(), "127.0.0.1", "localhost", 1)}
	b.post(t, "/invitation", "secret", secret, "password", "a long enough password", "again", "a long enough password")
	return b
}

// post sends a form and returns the page that answers it.
func (b *signedIn) post(t *testing.T, path string, fields ...string) string {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	resp, err := b.PostForm(b.url+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// findNoSecret fails for each file below a folder that has the bytes of a secret.
func findNoSecret(t *testing.T, folder, secret string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheServiceOfOwnAccountsMoves gives the service another address where people's own
// accounts alone name it.
func TestTheServiceOfOwnAccountsMoves(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	config, lines := filepath.Join(dir, "config.toml"), filepath.Join(dir, "m.ndjson")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setURL := func(url string) {
		t.Helper()
		write(config, fmt.Sprintf("data_dir = \"data\"\n[web]\naccess = \"people\"\npublic_url = \"http://localhost:8377\"\n[web.accounts]\nbase_url = %q\n", url))
	}
	refuses := func(want string) {
		t.Helper()
		out, err := exec.Command("minutebook", "sync", "-c", config).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s, %v; want %q", out, err, want)
		}
	}
	write(lines, `{"recording_id": 1, "title": "t", "created_at": "2026-05-01T10:00:00Z", "recorded_by": {"name": "Ann", "email": "ann@acme.example"}}`+"\n")
	setURL("https://old.example/external/v1")
	run(t, "init", "-c", config)
	run(t, "import", lines, "-c", config)
	refuses("no account is configured") // yet the archive knows its service now
	setURL("https://new.example/external/v1")
	refuses("stop the daemon, run `minutebook init --moved` with this configuration, and start it")
	run(t, "init", "--moved", "-c", config)
	refuses("no account is configured")
}
