package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestStatusSaysThatTheClockIsWrong reads a service whose clock is twenty minutes behind.
func TestStatusSaysThatTheClockIsWrong(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	upstream, key := sandbox(t, t.TempDir())
	address, err := url.Parse(upstream.url)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(address)
	behind.ModifyResponse = func(resp *http.Response) error {
		resp.Header.Set("Date", time.Now().Add(-20*time.Minute).UTC().Format(http.TimeFormat))
		return nil
	}
	proxy := httptest.NewServer(behind)
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("data_dir = %q\n[[accounts]]\nname = \"ada\"\nbase_url = \"%s/external/v1\"\napi_key = %q\n", filepath.Join(dir, "data"), proxy.URL, key)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "serve", "--create", "-c", config)
	eventually(t, "status says how wrong the clock is", func() (bool, any) {
		out := run(t, "status", "-c", config)
		return strings.Contains(out, "the clock is 20m") && strings.Contains(out, "away from the service's, as of "), out
	})
}
