package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// Whoever opens connections without end, at any listener, locks nobody out of
// any other: each listener has its own number, below that of the files that the
// daemon may open.
func TestCrowdedListenersStayOpen(t *testing.T) {
	t.Parallel()
	s := newServed(t, "http://127.0.0.1:1/external/v1", "key")
	page := testrun.FreeAddress(t)
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	listening := strings.Replace(string(text), `listen = "127.0.0.1:0"`, `listen = "`+page+`"`, 1)
	if err := os.WriteFile(s.config, []byte(listening), 0o600); err != nil {
		t.Fatal(err)
	}
	s.upWith(exec.Command("sh", "-c", `ulimit -n 256 && exec minutebook serve -c "$0"`, s.config))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	socket := filepath.Join(filepath.Dir(s.config), "data", "control.sock")
	for _, crowded := range []struct{ network, addr string }{
		{"tcp", page}, {"tcp", strings.TrimPrefix(s.receiver, "http://")}, {"unix", socket},
	} {
		for range 400 {
			c, err := net.DialTimeout(crowded.network, crowded.addr, 5*time.Second)
			if err != nil {
				continue // the queue of the listener is full: it accepts no more
			}
			defer c.Close()
		}
		for _, url := range []string{"http://" + page + "/healthz", s.receiver + "/"} {
			resp, err := client.Get(url)
			if err != nil {
				t.Errorf("with %s crowded: %v", crowded.addr, err)
				continue
			}
			resp.Body.Close()
		}
	}
	if !s.deliver(client, 1) {
		t.Error("a delivery is not taken")
	}
	run(t, "status", "-c", s.config)
}
