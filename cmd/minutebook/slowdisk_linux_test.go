package main

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"minutebook/internal/diskfault"
	"minutebook/internal/testrun"
)

// TestSlowDisk has the syncs of the databases' logs take 300 ms while meetings are delivered, and
// cuts the power in the middle of one: everything that was acknowledged is kept, and the page
// answers meanwhile.
func TestSlowDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	d := diskfault.New(t)
	for _, variable := range d.Env() {
		if name, value, _ := strings.Cut(variable, "="); name == "LD_PRELOAD" || strings.HasPrefix(name, "DISKFAULT_") {
			t.Setenv(name, value)
		}
	}
	s := newServedOn(t, d.Dir, t.TempDir(), "http://"+testrun.FreeAddress(t)+"/external/v1", "mbk_nobody_answers_there")
	page := s.setPage()
	d.Delay(t, diskfault.Sync, "-wal", 300*time.Millisecond)
	var mu sync.Mutex
	next, acked := int64(0), []int64{}
	for range rounds(2, 20) {
		s.start()
		before := len(acked)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for {
					mu.Lock()
					next++
					id := next
					mu.Unlock()
					if !s.deliver(client, id) {
						return
					}
					mu.Lock()
					acked = append(acked, id)
					mu.Unlock()
				}
			})
		}
		eventually(t, "deliveries are acknowledged", func() (bool, any) {
			mu.Lock()
			defer mu.Unlock()
			return len(acked) > before+8, len(acked)
		})
		resp, err := (&http.Client{Timeout: time.Minute}).Get(page)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("the page answers %d", resp.StatusCode)
		}
		for !d.IsDirty(t, "inbox.db-wal") {
			time.Sleep(10 * time.Millisecond)
		}
		s.stop(syscall.SIGKILL)
		senders.Wait()
		client.CloseIdleConnections()
		keepOthers(t, d)
		d.PowerCut(t)
	}
	d.Heal(t)
	s.start()
	s.checkAll(acked, rand.New(rand.NewPCG(1, 2)))
	s.stop(syscall.SIGINT)
	t.Logf("%d deliveries acknowledged", len(acked))
}

// setPage gives the page an address, and returns it.
func (s *served) setPage() string {
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	address := testrun.FreeAddress(s.t)
	if err := os.WriteFile(s.config, []byte(strings.Replace(string(text), "127.0.0.1:0", address, 1)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return "http://" + address + "/"
}

// keepOthers copies the files that the library does not see into the image: those that Go code
// writes. The index is made anew.
func keepOthers(t *testing.T, d *diskfault.Disk) {
	list, err := os.ReadDir(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		from, to := filepath.Join(d.Dir, e.Name()), filepath.Join(d.Image, e.Name())
		switch {
		case e.Name() == "index" || strings.Contains(e.Name(), ".db"):
		case e.IsDir():
			err = os.MkdirAll(to, 0o700)
		case e.Type().IsRegular():
			var raw []byte
			if raw, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(to, raw, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
