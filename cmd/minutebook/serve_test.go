package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

// sandbox starts `minutebook service` with the sample, two of its meetings held
// back, and returns it with a key of its administrator.
func sandbox(t *testing.T, dir string) (p *program, key string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sample.ndjson")
	var lines strings.Builder
	for _, raw := range sample.All() {
		fmt.Fprintf(&lines, "%s\n", raw)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, "service", "--data", dir, "--load", file, "--hold", "2", "--generation", "1s")
	select {
	case line := <-p.lines:
		name, value, ok := strings.Cut(line, " ")
		if !ok || name != "api_key" {
			t.Fatalf("the second line is %q, not the administrator's key", line)
		}
		return p, value
	case <-time.After(patience):
		t.Fatal("no key is printed at the first start")
	}
	return nil, ""
}

// TestServeAgainstService runs the daemon from a configuration against the
// service in a process of its own: backfill, a webhook made by command, a
// delivery, its recording, and the search that finds it.
func TestServeAgainstService(t *testing.T) {
	t.Parallel()
	upstream := t.TempDir()
	service, key := sandbox(t, upstream)
	inbound, dir := testrun.FreeAddress(t), t.TempDir()
	config := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf(`data_dir = %q
[receiver]
listen = %q
public_url = "http://%s"
[[accounts]]
name = "ada"
base_url = "%s/external/v1"
api_key = %q
allow_private = true
`, dir, inbound, inbound, service.url, key)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := start(t, "serve", "--create", "-c", config)
	var before control.StatusResult
	eventually(t, "the history is read", func() (bool, any) {
		before = status(t, dir)
		return before.Accounts[0].Backfilled && before.Meetings > 0 && before.Indexed == before.Meetings && before.Accounts[0].Coverage.Meetings > 0, before
	})
	run(t, "webhook", "create", "ada", "-c", config)
	for range 2 { // the administrator may see one of them only
		run(t, "service", "finish", "--data", upstream)
	}
	eventually(t, "the delivery and its recording arrive", func() (bool, any) {
		s := status(t, dir)
		return s.Meetings > before.Meetings && s.Indexed == s.Meetings && s.WithRecording > 5, s
	})
	sendForged(t, inbound, dir)
	if metrics := get(t, serve.url+"/metrics"); !strings.Contains(metrics, `minutebook_receiver_refused_total{status="401"} 1`) {
		t.Errorf("/metrics does not count the forged delivery:\n%s", metrics)
	}
	serve.stop()
	service.stop()
}

// sendForged sends a delivery with a signature that nobody made, which is answered
// 401 and leaves no trace but a count.
func sendForged(t *testing.T, receiver, dir string) {
	t.Helper()
	before := status(t, dir)
	req, err := http.NewRequest(http.MethodPost, "http://"+receiver+"/webhooks/ada", strings.NewReader(`{"recording_id": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("webhook-id", "msg_forged")
	req.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()))
	req.Header.Set("webhook-signature", "v1,"+strings.Repeat("A", 43)+"=")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a forged delivery is answered %s", resp.Status)
	}
	after := status(t, dir)
	if got, want := after.Receiver.Refused[401], before.Receiver.Refused[401]+1; got != want {
		t.Errorf("%d are counted as refused, want %d", got, want)
	}
	// Callbacks of downloads may arrive meanwhile, so that counts can grow.
	if now := run(t, "webhook", "deliveries", "--data", dir, "--json"); strings.Contains(now, "msg_forged") || after.Meetings != before.Meetings {
		t.Errorf("a forged delivery leaves a trace: %d meetings of %d, deliveries\n%s", after.Meetings, before.Meetings, now)
	}
}

func TestPortInUseIsAnErrorAtStart(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command("minutebook", "serve", "--create", "--data", t.TempDir())
	cmd.Env = append(os.Environ(), "MINUTEBOOK_WEB_LISTEN="+l.Addr().String())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "web.listen") || !strings.Contains(string(out), "in use") {
		t.Errorf("error %v, output %s", err, out)
	}
}

// TestServeNamesUnknownVariables has a misspelt variable in the environment.
func TestServeNamesUnknownVariables(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Setenv("MINUTEBOOK_WEB_LISTN", "127.0.0.1:1")
	t.Setenv("MINUTEBOOK_ACCOUNT_ADA_BASE_URL", "")
	t.Setenv("MINUTEBOOK_ACCOUNT_BOB_EMAIL", "bob@company.example")
	serve := start(t, "serve", "--create", "--data", t.TempDir())
	get(t, serve.url+"/healthz")
	for _, want := range []string{`"variable":"MINUTEBOOK_WEB_LISTN","nearest":"MINUTEBOOK_WEB_LISTEN"`, `"variable":"MINUTEBOOK_ACCOUNT_ADA_BASE_URL","time"`,
		`"variable":"MINUTEBOOK_ACCOUNT_BOB_EMAIL","nearest":"MINUTEBOOK_ACCOUNT_BOB_BASE_URL"`} {
		eventually(t, "the log has "+want, func() (bool, any) { return strings.Contains(serve.log(), `"level":"warn",`+want), serve.log() })
	}
	serve.stop()
}
