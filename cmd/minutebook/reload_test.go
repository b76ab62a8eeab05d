package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/receiver"
)

const (
	firstSecret  = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
	secondSecret = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4"
)

// reloaded is a daemon whose configuration changes.
type reloaded struct {
	*testing.T
	*program
	config, data, inbound string
}

// startReloaded starts a daemon whose account nobody answers.
func startReloaded(t *testing.T) *reloaded {
	dir := t.TempDir()
	r := &reloaded{T: t, config: filepath.Join(dir, "config.toml"), data: filepath.Join(dir, "data"), inbound: testrun.FreeAddress(t)}
	r.write("", firstSecret, "")
	r.program = start(t, "serve", "--create", "-c", r.config)
	return r
}

// write writes the configuration: the text before the accounts, the secret of ada, and
// the text after them.
func (r *reloaded) write(before, secret, after string) {
	r.Helper()
	text := fmt.Sprintf("data_dir = %q\n%s\n[receiver]\nlisten = %q\n[[accounts]]\nname = \"ada\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\napi_key = \"k\"\nwebhook_secrets = [%q]\n%s\n",
		r.data, before, r.inbound, secret, after)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *reloaded) reload() control.Reloaded {
	r.Helper()
	return runJSON[control.Reloaded](r.T, "reload", "-c", r.config)
}

// ask returns the status of the page for a host name.
func (r *reloaded) ask(host string) int {
	r.Helper()
	req, err := http.NewRequest(http.MethodGet, r.url+"/login", nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// deliver sends a delivery and returns its status.
func (r *reloaded) deliver(secret string, id int) (int, error) {
	req, err := receiver.SignedRequest(context.Background(), "http://"+r.inbound+"/webhooks/ada", secret, fmt.Sprint("msg_", id), time.Now(),
		fmt.Appendf(nil, `{"recording_id": %d, "title": "t titled 90", "transcript": [{"speaker": {"display_name": "Ada"}, "text": "The launch moves.", "timestamp": "00:01:05"}]}`, id))
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, err
}

// TestReload changes each kind of setting of a running daemon.
func TestReload(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	r := startReloaded(t)
	if got := r.ask("minutes.example"); got != http.StatusMisdirectedRequest {
		t.Fatalf("an unknown host gets %d", got)
	}
	r.write("[log]\nlevel = \"error\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\nhosts = [\"also.example\"]\n[process]\nthreads = 5\n[sync]\nwalk = \"0 0 1 1 *\"\n", secondSecret,
		"[[accounts]]\nname = \"bob\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\napi_key = \"k2\"\n[[retention.rules]]\nmedia_after_days = 9\n")
	if state := readStatus(r); state.Configuration == nil || !strings.Contains(state.Configuration.Outdated, "minutebook reload") {
		t.Errorf("status says of the changed file %+v", state.Configuration)
	}
	got := r.reload()
	if want := "accounts log.level retention.rules sync.walk web.access web.hosts web.public_url"; strings.Join(got.Changed, " ") != want {
		t.Errorf("changed %q, want %q", got.Changed, want)
	}
	if len(got.NeedsRestart) != 1 || got.NeedsRestart[0] != "process.threads" {
		t.Errorf("a restart is needed for %q", got.NeedsRestart)
	}
	for _, host := range []string{"minutes.example", "also.example"} {
		if got := r.ask(host); got != http.StatusOK {
			t.Errorf("the new host %s gets %d", host, got)
		}
	}
	const unknownSecret = "whsec_dW5rbm93bi11bmtub3duLXVua25vd24h" // the first one verifies for half a minute more, for deliveries under way
	for secret, want := range map[string]int{firstSecret: http.StatusOK, secondSecret: http.StatusOK, unknownSecret: http.StatusUnauthorized} {
		if got, err := r.deliver(secret, 1); err != nil || got/100 != want/100 {
			t.Errorf("a delivery gets %d, %v, want %d", got, err, want)
		}
	}
	state := readStatus(r)
	if len(state.Accounts) != 2 || state.Configuration.Outdated != "" {
		t.Fatalf("status has %d accounts, %+v", len(state.Accounts), state.Configuration)
	}
	if next := state.Accounts[0].NextRun["walk"]; next.Month() != time.January || next.Day() != 1 {
		t.Errorf("the next walk is at %v", next)
	}
	if out := runJSON[control.RetentionResult](t, "retention", "-c", r.config); out.Rules != 1 {
		t.Errorf("%d retention rules", out.Rules)
	}
	if strings.Contains(r.log(), `"message":"configuration loaded"`) {
		t.Error("a line of level info is logged at level error")
	}
	r.refuse(state)
	r.write("", firstSecret, "")
	if out := run(t, "reload", "-c", r.config); !strings.Contains(out, "not configured any more: bob; what was read for them is kept") {
		t.Errorf("an account that left: %s", out)
	}
	if state := readStatus(r); len(state.Accounts) != 1 || r.ask("minutes.example") != http.StatusMisdirectedRequest {
		t.Errorf("afterwards: %d accounts", len(state.Accounts))
	}
	if n := strings.Count(run(t, "audit", "-c", r.config), "  configuration  "); n != 3 {
		t.Errorf("the audit has %d rows of loaded configurations, want 3", n)
	}
	r.stop()
}

func readStatus(r *reloaded) control.StatusResult {
	r.Helper()
	return runJSON[control.StatusResult](r.T, "status", "-c", r.config)
}

// refuse gives the daemon configurations with mistakes.
func (r *reloaded) refuse(before control.StatusResult) {
	r.Helper()
	for text, want := range map[string]string{
		"[web]\nlisen = \"x\"\n":       "web.lisen",
		"[web]\naccess = \"people\"\n": "web.public_url",
		"[web]\naccess = \"people\"\npublic_url = \"https://other.example\"\n[sync]\nwalk = \"x\"\n": "sync.walk",
	} {
		r.write(text, firstSecret, "")
		out, err := exec.Command("minutebook", "reload", "-c", r.config).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			r.Errorf("reload of %q: %v, %s", text, err, out)
		}
		if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			r.Fatal(err)
		}
		eventually(r.T, "the log says why", func() (bool, any) { return strings.Contains(r.log(), want), r.log() })
	}
	r.write("[web]\naccess = \"people\"\npublic_url = \"https://other.example\"\n", "whsec_c2hvcnQ=", "")
	if out, err := exec.Command("minutebook", "reload", "-c", r.config).CombinedOutput(); err == nil || !strings.Contains(string(out), "ada") {
		r.Errorf("reload with a short secret: %v, %s", err, out)
	}
	r.cutOff()
	if r.ask("minutes.example") != http.StatusOK || r.ask("other.example") == http.StatusOK {
		r.Error("a refused reload has changed the hosts")
	}
	if got, err := r.deliver(secondSecret, 2); err != nil || got/100 != 2 {
		r.Errorf("a refused reload has changed the secrets: %d, %v", got, err)
	}
	after := run(r.T, "status", "--json", "-c", r.config)
	var now control.StatusResult
	if err := json.Unmarshal([]byte(after), &now); err != nil || len(now.Accounts) != len(before.Accounts) {
		r.Errorf("a refused reload has left %d accounts, %v", len(now.Accounts), err)
	}
}

// cutOff gives the daemon its file as an editor leaves it for a moment: cut off before the
// accounts.
func (r *reloaded) cutOff() {
	r.Helper()
	r.write("[web]\naccess = \"people\"\npublic_url = \"https://other.example\"\n", firstSecret, "")
	text, err := os.ReadFile(r.config)
	if err != nil {
		r.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "[[accounts]]")
	if err := os.WriteFile(r.config, []byte(before), 0o600); err != nil {
		r.Fatal(err)
	}
	out, err := exec.Command("minutebook", "reload", "-c", r.config).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no [[accounts]] any more, and had ada, bob: write it again") {
		r.Errorf("reload of a file that is cut off: %v, %s", err, out)
	}
}

// TestACutOffFileBesideAddedAccounts cuts the file off before its accounts while the daemon has one
// that was added on the page: the file's account goes on.
func TestACutOffFileBesideAddedAccounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	r := startReloaded(t)
	if err := config.AddAccount(r.data, config.Account{Name: "bob", BaseURL: "http://127.0.0.1:1/external/v1", APIKey: "k2"}); err != nil {
		t.Fatal(err)
	}
	r.reload()
	if err := os.WriteFile(r.config, fmt.Appendf(nil, "data_dir = %q\n[receiver]\nlisten = %q\n", r.data, r.inbound), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("minutebook", "reload", "-c", r.config).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no [[accounts]] any more, and had ada: write it again") {
		t.Errorf("reload: %v, %s", err, out)
	}
	if s := runJSON[control.StatusResult](t, "status", "--data", r.data); len(s.Accounts) != 2 {
		t.Errorf("%d accounts are read, want 2: %s", len(s.Accounts), r.log())
	}
	r.stop()
}

// TestADataDirectoryForTheNextStartLeavesAddedAccounts changes data_dir while the daemon has an
// account that was added on the page: the account goes on.
func TestADataDirectoryForTheNextStartLeavesAddedAccounts(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	r := startReloaded(t)
	if err := config.AddAccount(r.data, config.Account{Name: "bob", BaseURL: "http://127.0.0.1:1/external/v1", APIKey: "k2"}); err != nil {
		t.Fatal(err)
	}
	r.reload()
	present := r.data
	r.data += "-moved"
	r.write("", firstSecret, "")
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a restart is needed", func() (bool, any) { return strings.Contains(r.log(), `"settings":["data_dir"]`), r.log() })
	if s := runJSON[control.StatusResult](t, "status", "--data", present); len(s.Accounts) != 2 {
		t.Errorf("%d accounts are read, want 2: %s", len(s.Accounts), r.log())
	}
	r.stop()
}

// TestReloadFailsNoRequest loads two configurations in turn while requests for the page
// and deliveries are answered. Eight senders go on until the fifth reload has ended, and
// have then sent at least 2,000 requests, or 10,000 in a long run.
func TestReloadFailsNoRequest(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	r := startReloaded(t)
	const senders = 8
	requests := int64(rounds(2000, 10000))
	var taken, failed atomic.Int64
	var reloaded atomic.Bool
	var first atomic.Value
	report := func(text string) { failed.Add(1); first.CompareAndSwap(nil, text) }
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	var group sync.WaitGroup
	for range senders {
		group.Go(func() {
			for n := taken.Add(1); n <= requests || !reloaded.Load(); n = taken.Add(1) {
				if n%20 == 0 {
					if got, err := r.deliver(firstSecret, int(n)); err != nil || got/100 != 2 {
						report(fmt.Sprintf("a delivery gets %d, %v", got, err))
					}
					continue
				}
				resp, err := client.Get(r.url + []string{"/healthz", "/healthz", "/api/v1/meetings", "/"}[n%4])
				if err != nil {
					report(err.Error())
					continue
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					report(fmt.Sprintf("%s: %s, %v", resp.Request.URL, resp.Status, err))
				}
				resp.Body.Close()
			}
		})
	}
	loads := 0
	for ; loads < 5; loads++ {
		eventually(t, "requests between two reloads", func() (bool, any) { n := taken.Load(); return n >= int64(loads)*requests/5, n })
		second := []string{"", "[[accounts]]\nname = \"bob\"\nbase_url = \"http://127.0.0.1:1/external/v1\"\napi_key = \"k2\"\n"}[loads%2]
		r.write(fmt.Sprintf("[web]\ntime_zone = \"Etc/GMT-%d\"\n[sync]\nwalk = \"%d 2 * * *\"\n", loads%10+1, loads%60), firstSecret, second)
		r.reload()
	}
	reloaded.Store(true)
	group.Wait()
	sent := taken.Load() - senders // each has taken a last number and sent nothing
	t.Logf("%d requests over %d reloads; %d failed", sent, loads, failed.Load())
	if n := failed.Load(); n > 0 {
		t.Errorf("%d of %d requests failed; the first: %v", n, sent, first.Load())
	}
	r.stop()
}
