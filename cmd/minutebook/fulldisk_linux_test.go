package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/notify"
	"minutebook/internal/testrun"
	"minutebook/receiver"
)

// TestServeOnAFullDisk fills the disk under the running daemon: deliveries are
// answered 503, sync says why it pauses, and with room again everything that was
// missed arrives and nothing half-written is found.
func TestServeOnAFullDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	disk := testrun.SmallDisk(t, 160)
	service, key := sandbox(t, t.TempDir())
	inbound, dir, people := testrun.FreeAddress(t), filepath.Join(disk.Dir, "data"), startCollector(t)
	config := filepath.Join(t.TempDir(), "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[receiver]\nlisten = %q\npublic_url = \"http://%s\"\n[media]\ndownload = false\n[sync]\ncatch_up = \"@every 1s\"\n"+
		"[verify]\nschedule = \"@every 1s\"\n[notify]\nallow_private = true\n[[notify.hooks]]\nname = \"pager\"\nformat = \"webhook\"\nurl = \"%s/hook-secret\"\nsecret = %q\n"+
		"[[accounts]]\nname = \"ada\"\nbase_url = \"%s/external/v1\"\napi_key = %q\nallow_private = true\nwebhook_secrets = [%q]\n", dir, inbound, inbound, people.URL, serveSecret, service.url, key, serveSecret)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := start(t, "serve", "--create", "-c", config)
	var before control.StatusResult
	eventually(t, "the history is read", func() (bool, any) {
		before = status(t, dir)
		return before.Accounts[0].Backfilled && before.Meetings > 0 && before.Indexed == before.Meetings, before
	})
	if code := delivered(t, inbound, 9001); code != http.StatusOK {
		t.Fatalf("with room a delivery is answered %d", code)
	}

	disk.Fill()
	eventually(t, "sync says why it pauses", func() (bool, any) {
		disk.Fill() // the space that a log gave back
		s := status(t, dir)
		return strings.Contains(strings.Join(s.Problems, "; "), "disk is full"), s.Problems
	})

	eventually(t, "the receiver says that it is not ready", func() (bool, any) {
		disk.Fill()
		resp, err := http.Get(serve.url + "/readyz")
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		ready, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(ready), "receiver: the disk is full"), string(ready)
	})
	disk.Fill() // now that everything that writes has met the full disk, and gives back no more
	if code := delivered(t, inbound, 9002); code != http.StatusServiceUnavailable {
		t.Errorf("on a full disk a delivery is answered %d", code)
	}
	eventually(t, "people are told", func() (bool, any) {
		disk.Fill()
		got := people.messages("disk")
		return len(got) == 1 && got[0].Kind == notify.Problem, got
	})

	disk.Clear()
	eventually(t, "sync goes on", func() (bool, any) {
		s := status(t, dir)
		return len(s.Problems) == 0 && s.Meetings == before.Meetings+1 && s.Indexed == s.Meetings, s
	})
	eventually(t, "deliveries are taken again", func() (bool, any) {
		code := delivered(t, inbound, 9002)
		return code == http.StatusOK, code
	})
	eventually(t, "what was refused is there", func() (bool, any) {
		s := status(t, dir)
		return s.Meetings == before.Meetings+2 && s.Indexed == s.Meetings, s
	})
	eventually(t, "people are told that it is over", func() (bool, any) {
		got := people.messages("disk")
		return len(got) == 2 && got[1].Kind == notify.Over, got
	})
	serve.stop()
	run(t, "verify", "-c", config)
}

// delivered sends one meeting as the service does and returns the answer's code.
func delivered(t *testing.T, inbound string, id int64) int {
	t.Helper()
	body := fmt.Appendf(nil, `{"recording_id":%d,"title":"Meeting %d","created_at":"2026-02-28T08:00:00Z","recording_start_time":"2026-02-28T07:00:00Z"}`, id, id)
	req, err := receiver.SignedRequest(context.Background(), "http://"+inbound+"/webhooks/ada", serveSecret, fmt.Sprint("msg_", id), time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
