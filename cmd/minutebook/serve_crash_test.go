package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"minutebook/archive/inbox"
	"minutebook/control"
	"minutebook/internal/testrun"
	"minutebook/receiver"
)

const serveSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// served is a configuration and the daemon that runs with it.
type served struct {
	t        *testing.T
	data     string // the data directory
	config   string
	receiver string // its URL
	cmd      *exec.Cmd
	// forgotten is the number of meetings that were forgotten, whose deliveries stay known.
	forgotten int
}

// newServed writes a configuration with one account at a service.
func newServed(t *testing.T, baseURL, key string) *served {
	t.Helper()
	dir := t.TempDir()
	return newServedOn(t, filepath.Join(dir, "data"), dir, baseURL, key)
}

// newServedOn creates an archive in the directory data, and its configuration in dir.
func newServedOn(t *testing.T, data, dir, baseURL, key string) *served {
	t.Helper()
	addr := testrun.FreeAddress(t)
	s := &served{t: t, data: data, config: filepath.Join(dir, "config.toml"), receiver: "http://" + addr}
	text := fmt.Sprintf("data_dir = %q\n[web]\nlisten = \"127.0.0.1:0\"\n[receiver]\nlisten = %q\npublic_url = %q\n"+
		"[[accounts]]\nname = \"anna\"\nbase_url = %q\napi_key = %q\nwebhook_secrets = [%q]\nallow_private = true\n",
		data, addr, s.receiver, baseURL, key, serveSecret)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "-c", s.config)
	return s
}

// start starts the daemon and waits until its receiver answers.
func (s *served) start() {
	s.t.Helper()
	s.upWith(exec.Command("minutebook", "serve", "-c", s.config))
}

// upWith is up with a command that runs the daemon.
func (s *served) upWith(daemon *exec.Cmd) {
	s.t.Helper()
	s.cmd = daemon
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.cmd
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	eventually(s.t, "the receiver answers", func() (bool, any) {
		resp, err := http.Get(s.receiver)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil, err
	})
}

func (s *served) stop(signal os.Signal) {
	s.cmd.Process.Signal(signal)
	s.cmd.Wait()
}

// deliver sends one meeting as the service does and reports whether it was
// acknowledged.
func (s *served) deliver(client *http.Client, id int64) bool {
	body := fmt.Appendf(nil, `{"recording_id":%d,"title":"Meeting %d","created_at":"2026-02-28T08:00:00Z","recording_start_time":"2026-02-28T07:00:00Z",`+
		`"recorded_by":{"name":"Anna","email":"anna@example.com","email_domain":"example.com"},`+
		`"transcript":[{"speaker":{"display_name":"Anna"},"text":"we said zq%dqz","timestamp":"00:00:01"}]}`, id, id, id)
	req, err := receiver.SignedRequest(context.Background(), s.receiver+"/webhooks/anna", serveSecret, fmt.Sprint("msg_", id), time.Now(), body)
	if err != nil {
		s.t.Error(err)
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// TestServeKilled kills the daemon while sixteen senders deliver, again and
// again: everything that was acknowledged is kept once and applied once, and
// its words are found.
func TestServeKilled(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	rounds := 10
	if n, err := strconv.Atoi(os.Getenv("MINUTEBOOK_CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	s := newServed(t, "http://"+testrun.FreeAddress(t)+"/external/v1", "mbk_nobody_answers_there")
	var mu sync.Mutex
	next, done := int64(0), []int64{}
	for range rounds {
		s.start()
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					mu.Lock()
					next++
					id := next
					mu.Unlock()
					if !s.deliver(client, id) {
						return
					}
					mu.Lock()
					done = append(done, id)
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
		s.stop(syscall.SIGKILL)
		wg.Wait()
		client.CloseIdleConnections()
	}
	s.start()
	s.checkAll(done, random)
	s.stop(syscall.SIGINT)
	t.Logf("%d deliveries acknowledged in %d rounds", len(done), rounds)
}

func (s *served) checkAll(done []int64, random *rand.Rand) {
	t := s.t
	t.Helper()
	eventually(t, "everything is applied", func() (bool, any) {
		waiting := runJSON[[]control.DeliveryInfo](t, "webhook", "deliveries", "-c", s.config, "--state", inbox.StateReceived)
		return len(waiting) == 0, len(waiting)
	})
	kept := map[string]int64{}
	for _, d := range runJSON[[]control.DeliveryInfo](t, "webhook", "deliveries", "-c", s.config, "--limit", "1000000") {
		if _, twice := kept[d.WebhookID]; twice || d.State != inbox.StateApplied {
			t.Errorf("delivery %+v, there before: %v", d, twice)
		}
		kept[d.WebhookID] = d.RecordingID
	}
	for _, id := range done {
		if kept[fmt.Sprint("msg_", id)] != id {
			t.Errorf("delivery %d was acknowledged and is lost", id)
		}
	}
	eventually(t, "everything is indexed", func() (bool, any) {
		status := runJSON[control.StatusResult](t, "status", "-c", s.config)
		want := len(kept) - s.forgotten
		return status.Meetings == want && status.Indexed == want, []int{status.Meetings, status.Indexed, len(kept)}
	})
	for range min(20, len(done)) {
		id := done[random.IntN(len(done))]
		found := runJSON[control.SearchResult](t, "search", "-c", s.config, fmt.Sprintf("zq%dqz", id))
		if found.Total != 1 || found.Meetings[0].RecordingID != id {
			t.Errorf("searching what was said in %d: %+v", id, found)
		}
	}
}
