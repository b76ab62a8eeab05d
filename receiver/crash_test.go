package receiver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
	"minutebook/search"
)

// crashRounds is how often the daemon is killed: MINUTEBOOK_CRASH_ROUNDS, or 10.
func crashRounds(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("MINUTEBOOK_CRASH_ROUNDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 2
	}
	return 10
}

// sender delivers, and keeps which deliveries were acknowledged and which must be sent again
// under the same id.
type sender struct {
	t    *testing.T
	url  string
	rest time.Duration // of a connection after each answer
	mu   sync.Mutex
	next int64
	todo []int64          // sent without an answer
	done map[int64]string // acknowledged, by recording
}

func (s *sender) take() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.todo); n > 0 {
		id := s.todo[n-1]
		s.todo = s.todo[:n-1]
		return id
	}
	s.next++
	return s.next
}

// word is said in one meeting only.
func word(id int64) string { return fmt.Sprintf("zq%dqz", id) }

// crashBody is the body of a meeting of its own; every second one is large.
func crashBody(id int64) []byte {
	padding := strings.Repeat("padding ", int(id%2)*6000)
	return fmt.Appendf(nil, `{"padding":"%s","recording_id":%d,"title":"Meeting %d","created_at":"2026-02-28T08:00:00Z","recording_start_time":"2026-02-28T07:00:00Z",`+
		`"transcript":[{"speaker":{"display_name":"Anna"},"text":"we said %s %s","timestamp":"00:00:01"}]}`, padding, id, id, word(id), strings.Repeat("and more ", 200))
}

// run sends until the daemon is gone.
func (s *sender) run(client *http.Client) {
	for {
		id := s.take()
		req, err := SignedRequest(context.Background(), s.url+"/webhooks/anna", secretA, fmt.Sprint("msg_", id), time.Now(), crashBody(id))
		if err != nil {
			s.t.Error(err)
			return
		}
		resp, err := client.Do(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		s.mu.Lock()
		if err == nil && resp.StatusCode == http.StatusOK {
			s.done[id] = word(id)
		} else {
			s.todo = append(s.todo, id)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
		time.Sleep(s.rest)
	}
}

// TestCrash kills the daemon with SIGKILL while many connections deliver, over
// and over: whatever was acknowledged is there once, applied once, searchable.
func TestCrash(t *testing.T) {
	testrun.SkipUnderRace(t)
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("MINUTEBOOK_CRASH_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("MINUTEBOOK_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	s := &sender{t: t, done: map[int64]string{}}
	rounds := crashRounds(t)
	if rounds <= 10 { // some hundred deliveries a round do for a short run
		s.rest = 10 * time.Millisecond
	}
	checked := map[int64]bool{}
	for round := range rounds {
		crashRound(t, dir, s, time.Duration(random.Int64N(int64(400*time.Millisecond))))
		settled(t, dir, func(p *parts) {
			for id := range s.done {
				if !checked[id] {
					checkDelivered(t, p, id)
					checked[id] = true
				}
			}
			checkNothingElse(t, p, s)
		})
		if t.Failed() {
			t.Fatalf("round %d; %d acknowledged so far", round, len(s.done))
		}
	}
	settled(t, dir, func(p *parts) {
		extra := 1000 // of many thousands, each of which was looked at after its round
		for id := range s.done {
			if extra--; extra < 0 {
				break
			}
			checkDelivered(t, p, id)
		}
	})
	t.Logf("%d deliveries acknowledged", len(s.done))
	if len(s.done) == 0 {
		t.Error("nothing was acknowledged")
	}
}

func crashRound(t *testing.T, dir string, s *sender, after time.Duration) {
	t.Helper()
	daemon, url := startDaemon(t, dir, os.Environ())
	s.url = url
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	client := &http.Client{Transport: transport}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { s.run(client) })
	}
	time.Sleep(50*time.Millisecond + after)
	daemon.Process.Kill()
	wg.Wait()
	daemon.Wait()
	transport.CloseIdleConnections()
}

// startDaemon starts a child process that receives into dir, and returns its
// address. The caller kills it.
func startDaemon(t *testing.T, dir string, env []string) (daemon *exec.Cmd, url string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	daemon = exec.Command(self)
	daemon.Env = append(env, crashDir+"="+dir)
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the daemon did not start: %v", err)
	}
	return daemon, "http://" + strings.TrimSpace(line)
}

// checkDelivered looks for one acknowledged delivery: kept once, applied once,
// found by their words.
func checkDelivered(t *testing.T, p *parts, id int64) {
	t.Helper()
	d, err := p.archive.Inbox().DeliveryOf(t.Context(), "anna", fmt.Sprint("msg_", id))
	if err != nil || d.State != inbox.StateApplied || d.RecordingID != id {
		t.Errorf("delivery of %d: %+v, %v", id, d, err)
		return
	}
	revisions, err := p.archive.Revisions(t.Context(), id)
	if err != nil || len(revisions) != 2 { // the meeting and its transcript
		t.Errorf("meeting %d has %d revisions, %v; want 2", id, len(revisions), err)
	}
	found, err := p.index.Search(t.Context(), search.Request{Query: word(id), Viewer: archive.Viewer{All: true}})
	if err != nil || found.Total != 1 || len(found.Meetings) != 1 || found.Meetings[0].Row.RecordingID != id {
		t.Errorf("searching what was said in %d: %+v, %v", id, found, err)
	}
}

// checkNothingElse counts: deliveries that got no answer may be there, too, but
// nothing is there twice and nothing that was never sent.
func checkNothingElse(t *testing.T, p *parts, s *sender) {
	t.Helper()
	c, err := p.archive.Inbox().Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.archive.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Applied != m.Meetings || c.Quarantined != 0 || c.Applied < len(s.done) || c.Applied > int(s.next) {
		t.Errorf("inbox %+v, %d meetings, %d acknowledged of %d sent", c, m.Meetings, len(s.done), s.next)
	}
}
