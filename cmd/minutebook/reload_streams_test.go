package main

import (
	"context"
	"io"
	"net/http"
	"testing"

	"minutebook/internal/testrun"
)

// TestReloadReachesOpenStreams closes a way in beneath an answer that goes on.
func TestReloadReachesOpenStreams(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	r := startReloaded(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/api/v1/status/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, len("event: status"))); err != nil {
		t.Fatal(err)
	}
	r.write("[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n", firstSecret, "")
	r.reload()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("who would have to sign in now reads on: %v", err)
	}
	r.stop()
}
