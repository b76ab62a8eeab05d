package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// misbehave answers by its path.
func misbehave(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/echo":
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Host", r.Host)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Query().Get("q"), body)
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/half":
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "/short":
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "four")
	case "/long":
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "four")
		if _, err := io.WriteString(w, " and more"); err != http.ErrContentLength {
			panic(err)
		}
	}
}

// A client sees the same over loopback as over a real connection.
func TestItBehavesAsAConnection(t *testing.T) {
	real := httptest.NewServer(http.HandlerFunc(misbehave))
	defer real.Close()
	wired := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	see := func(c *http.Client, base, path string) string {
		req, err := http.NewRequest(http.MethodPost, base+path, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			return "no answer"
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %q whole %v", resp.StatusCode, body, err == nil)
	}
	client := &http.Client{Transport: &Transport{Handler: http.HandlerFunc(misbehave)}}
	for _, path := range []string{"/echo?q=1", "/abort", "/half", "/short", "/long", "/nothing"} {
		want, got := see(wired, real.URL, path), see(client, "http://loop.example", path)
		if got != want {
			t.Errorf("%s: %s, but over a connection %s", path, got, want)
		}
	}
}

func TestLatencyAndFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := func(*http.Request) time.Duration { return time.Second }
		served := 0
		tr := &Transport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }), Before: second, After: second}
		c := &http.Client{Transport: tr}
		start := time.Now()
		resp, err := c.Get("http://loop.example/")
		if err != nil || time.Since(start) != 2*time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		_ = resp.Body.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://loop.example/", nil)
		if _, err := c.Do(req); !errors.Is(err, context.DeadlineExceeded) || served != 2 {
			t.Errorf("%v, served %d", err, served)
		}
		tr.Fail = func(_ *http.Request, answered bool) error {
			if answered {
				return syscall.ECONNRESET
			}
			return nil
		}
		if _, err := c.Get("http://loop.example/"); !errors.Is(err, syscall.ECONNRESET) || served != 3 {
			t.Errorf("%v, served %d", err, served)
		}
	})
}
