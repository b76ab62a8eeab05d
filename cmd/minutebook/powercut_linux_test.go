package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/powercut"
	"minutebook/internal/residue"
	"minutebook/internal/testrun"
)

// powerCuts keep nothing, some or all of the writes and names that were not synced.
var powerCuts = []powercut.Cut{{}, {Pages: 0.5, Names: 0.9}, {Names: 1}, {Pages: 0.9}, powercut.Kill}

// promised has the deeds that a daemon acknowledged, and when.
type promised struct {
	page      string // its URL
	mu        sync.Mutex
	delivered map[int64]time.Time
	forgetting, forgot,
	noted, added map[string]time.Time
}

func (p *promised) add(to map[string]time.Time, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to[key] = time.Now()
}

// before returns the promises that were made before a moment.
func before[K int64 | string](moment time.Time, promises map[K]time.Time) (keys []K) {
	for key, at := range promises {
		if at.Before(moment) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestPowerCuts records every call by which a daemon changes its files, while meetings are
// delivered, fetched, noted and forgotten and people are added, and cuts the power at
// moments of it, which loses writes and names that were not synced, in any order. After each
// cut nothing that the daemon had promised is lost, and verify finds no damage.
func TestPowerCuts(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	service, key := sandbox(t, t.TempDir())
	s := newServed(t, service.url+"/external/v1", key)
	p := &promised{page: "http://" + testrun.FreeAddress(t), delivered: map[int64]time.Time{},
		forgetting: map[string]time.Time{}, forgot: map[string]time.Time{}, noted: map[string]time.Time{}, added: map[string]time.Time{}}
	raw, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(raw), `listen = "127.0.0.1:0"`, fmt.Sprintf("listen = %q\npublic_url = %q\naccess = \"proxy\"\nproxy_header = \"Remote-User\"\nproxy_networks = [\"127.0.0.1/32\"]",
		strings.TrimPrefix(p.page, "http://"), p.page), 1)
	config = strings.Replace(config, `name = "anna"`, `name = "anna"`+"\nemail = \"anna@example.com\"", 1)
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := powercut.NewRecorder(t, s.data)
	s.upWith(r.Command(t, "minutebook", "serve", "-c", s.config))
	p.run(s, 40, 5)
	process := s.cmd.Process.Pid
	s.stop(syscall.SIGINT)
	log, err := r.Log(t.Context(), process)
	if err != nil {
		t.Fatal(err)
	}
	moments := []int{log.Len()}
	for range kills(1, 300) {
		moments = append(moments, random.IntN(log.Len()))
	}
	err = log.Replay(moments, func(moment int, write func(string, powercut.Cut, *rand.Rand) error) error {
		cut := powerCuts[random.IntN(len(powerCuts))]
		t.Run(fmt.Sprintf("line %d, %v", moment, cut), func(t *testing.T) {
			top := t.TempDir()
			after := &served{t: t, data: filepath.Join(top, "data"), config: filepath.Join(top, "config.toml"), receiver: s.receiver}
			if err := write(after.data, cut, random); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(after.config, []byte(strings.Replace(config, s.data, after.data, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			p.check(after, log.Time(moment))
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d moments of %d lines: %d delivered, %d forgotten, %d notes, %d people", len(moments), log.Len(), len(p.delivered), len(p.forgot), len(p.noted), len(p.added))
}

// run has a daemon do its work: meetings are delivered while commands run.
func (p *promised) run(s *served, deliveries, rounds int) {
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	ctx, stop := context.WithCancel(s.t.Context())
	var reading sync.WaitGroup
	reading.Go(func() { _ = exec.CommandContext(ctx, "minutebook", "sync", "-c", s.config).Run() })
	run(s.t, "user", "add", "anna@example.com", "-c", s.config)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range deliveries {
			id := firstDelivered + int64(i)
			if !s.deliver(client, id) {
				s.t.Errorf("%d was not acknowledged", id)
				return
			}
			p.mu.Lock()
			p.delivered[id] = time.Now()
			p.mu.Unlock()
			time.Sleep(30 * time.Millisecond)
		}
	})
	wg.Go(func() {
		for i := range rounds {
			time.Sleep(50 * time.Millisecond)
			id := fmt.Sprint(firstDelivered + i)
			p.add(p.forgetting, id)
			run(s.t, "forget", id, "--reason", "load", "-c", s.config)
			p.add(p.forgot, id)
			mail := fmt.Sprintf("ann%d@example.com", i)
			run(s.t, "user", "add", mail, "-c", s.config)
			p.add(p.added, mail)
			text := fmt.Sprintf("noted %d", i)
			p.note(s.t, client, firstDelivered+rounds, text)
			p.add(p.noted, text)
		}
	})
	wg.Wait()
	eventually(s.t, "recordings are fetched", func() (bool, any) {
		status := runJSON[control.StatusResult](s.t, "status", "-c", s.config)
		return status.WithRecording >= 3, status.WithRecording
	})
	stop()
	reading.Wait()
}

func (p *promised) note(t *testing.T, client *http.Client, meeting int, text string) {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Error(err)
		return
	}
	eventually(t, "the note is kept", func() (bool, any) { // once the meeting is there
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("%s/api/v1/meetings/%d/notes", p.page, meeting), bytes.NewReader(body))
		if err != nil {
			return false, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.Header.Set("Remote-User", "anna@example.com")
		resp, err := client.Do(req)
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		return resp.StatusCode < 300, resp.Status
	})
}

// check checks a daemon after a power cut.
func (p *promised) check(s *served, moment time.Time) {
	s.start()
	defer s.stop(syscall.SIGKILL)
	l := newLoad(s, filepath.Dir(s.data))
	l.acked = before(moment, p.delivered)
	for _, id := range before(moment, p.forgetting) {
		l.forgot[number(s.t, id)] = true
	}
	eventually(s.t, "everything is indexed", func() (bool, any) {
		status := runJSON[control.StatusResult](s.t, "status", "-c", s.config)
		return status.Meetings == status.Indexed, []int{status.Meetings, status.Indexed}
	})
	var words []string
	for _, id := range before(moment, p.forgot) {
		words = append(words, "zq"+id+"qz")
	}
	if len(words) > 0 {
		if found := residue.FindAny(s.t, words, s.data); len(found) > 0 {
			s.t.Errorf("words of forgotten meetings are in %q", found)
		}
	}
	people := run(s.t, "user", "list", "-c", s.config)
	for _, mail := range before(moment, p.added) {
		if !strings.Contains(people, mail) {
			s.t.Errorf("%s was added and is not in the list %s", mail, people)
		}
	}
	if noted := before(moment, p.noted); len(noted) > 0 {
		exported := filepath.Join(s.t.TempDir(), "notes")
		run(s.t, "export", "--format", "ndjson", "--to", exported, "-c", s.config)
		if missing := slices.DeleteFunc(noted, func(text string) bool { return len(residue.FindAny(s.t, []string{text}, exported)) > 0 }); len(missing) > 0 {
			s.t.Errorf("notes are lost: %q", missing)
		}
	}
	l.checkKept(s.t)
}

func number(t *testing.T, digits string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(digits, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
