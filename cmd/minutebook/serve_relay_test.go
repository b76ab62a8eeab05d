package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/receiver"
)

// TestServeRelays runs the service over an archive: the person whose account it
// is makes a key, registers a webhook, and a meeting that is then delivered to
// the archive is sent on, once, and read with the key. An earlier one is not
// sent.
func TestServeRelays(t *testing.T) {
	t.Parallel()
	dir, addr, in := t.TempDir(), testrun.FreeAddress(t), newHooked(t)
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[receiver]\nlisten = %q\n[service]\nenabled = true\nallow_private = true\n"+
		"[[accounts]]\nname = \"anna\"\nemail = \"anna@x.example\"\nbase_url = %q\napi_key = \"mbk_nobody\"\nwebhook_secrets = [%q]\nallow_private = true\n",
		filepath.Join(dir, "data"), addr, "http://"+testrun.FreeAddress(t)+"/external/v1", serveSecret)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "serve", "--create", "-c", config)
	key := runJSON[control.NewKey](t, "service", "keys", "create", "-c", config, "--user", "anna@x.example").APIKey
	register(t, p.url, key, in.URL)
	deliverOf(t, "http://"+addr, 1, time.Now().Add(-time.Hour))
	deliverOf(t, "http://"+addr, 2, time.Now().Add(time.Hour))
	deliverOf(t, "http://"+addr, 2, time.Now().Add(time.Hour)) // under another id
	eventually(t, "the meeting is sent on", func() (bool, any) {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.ids[2]) > 0, in.ids
	})
	for id := 1; id <= 2; id++ {
		if got := callAs(t, http.MethodGet, fmt.Sprintf("%s/external/v1/recordings/%d/summary", p.url, id), key, ""); got != http.StatusOK {
			t.Errorf("the summary of %d is answered %d", id, got)
		}
	}
	if got := callAs(t, http.MethodGet, p.url+"/external/v1/meetings", "mbk_wrong", ""); got != http.StatusUnauthorized {
		t.Errorf("a wrong key is answered %d", got)
	}
	p.stop()
	if len(in.ids[2]) != 1 || len(in.ids) != 1 {
		t.Errorf("sent on: %v, want 2 under one id", in.ids)
	}
}

// deliverOf delivers a meeting that was recorded at a time, under an id of its own.
func deliverOf(t *testing.T, to string, id int, at time.Time) {
	t.Helper()
	stamp := at.UTC().Format(time.RFC3339)
	body := fmt.Appendf(nil, `{"recording_id":%d,"title":"Meeting %d","created_at":%q,"recording_start_time":%q,"shared_with":"no_teams",`+
		`"recorded_by":{"name":"Anna","email":"anna@x.example","email_domain":"x.example","team":null},"default_summary":{"markdown_formatted":"We met."}}`, id, id, stamp, stamp)
	req, err := receiver.SignedRequest(context.Background(), to+"/webhooks/anna", serveSecret, fmt.Sprintf("msg_%d_%d", id, time.Now().UnixNano()), time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the delivery is answered %s", resp.Status)
	}
}
