package main

import (
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/internal/httpserver"
	"minutebook/internal/httpserver/stalltest"
)

// stallDaemon runs a daemon whose listeners have short times, with a meeting
// that has a large recording, and returns its page and its receiver.
func stallDaemon(t *testing.T) (page, received *stalltest.Listener) {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen, cfg.Receiver.Listen, cfg.Service.Enabled = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", true
	const short = 300 * time.Millisecond // an answer needs more of a machine that does much else
	ctx, cancel := context.WithCancel(context.Background())
	d, err := startDaemon(ctx, &cfg, zerolog.Nop(), appOptions{Create: true,
		Times: httpserver.Times{Header: short, Body: short, Answer: 10 * short, Idle: short}})
	if err != nil {
		t.Fatal(err)
	}
	page, received = stalltest.Watch(d.webListener), stalltest.Watch(d.receiverListener)
	d.webListener, d.receiverListener = page, received
	fillRecorded(t, d.archive, append([]byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), bytes.Repeat([]byte("large "), 8<<20)...))
	runDaemon(t, ctx, cancel, d)
	return page, received
}

// fillRecorded gives an archive a meeting with a recording.
func fillRecorded(t *testing.T, a *archive.Archive, recording []byte) {
	t.Helper()
	o, err := archive.FromMeeting("main", archive.SourceList, time.Now(), []byte(`{"recording_id": 1, "title": "Long"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
	blob, err := a.Media().Put(t.Context(), bytes.NewReader(recording))
	if err == nil {
		err = a.AttachMedia(t.Context(), 1, archive.MediaVideo, blob)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runDaemon runs a daemon until the test ends, or until cancel is called.
func runDaemon(t *testing.T, ctx context.Context, cancel context.CancelFunc, d *daemon) {
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		d.Close()
	})
}

// No peer holds a connection of a listener by falling silent, on any kind of
// route, with no credential.
func TestNoListenerWaitsForASilentPeer(t *testing.T) {
	t.Parallel()
	page, received := stallDaemon(t)
	var all sync.WaitGroup
	for _, route := range []string{"GET /", "POST /", "GET /metrics", "POST /nope", "POST /mcp", "POST /healthz", "GET /api/v1/meetings",
		"POST /external/v1/oauth2/token", "GET /external/v1/meetings", "GET /external/v1/openapi.yaml", "POST /external/v1/webhooks",
		"POST /external/v1/recordings/1/download", "POST /external/v1/nope", "GET /external/v1/media/1/video.mp4"} {
		stall(t, &all, page, route)
	}
	for _, route := range []string{"GET /", "POST /nope", "POST /webhooks/main", "PUT /webhooks/main", "POST /callbacks/summary/none"} {
		stall(t, &all, received, route)
	}
	all.Wait()
	resp, err := http.Get("http://" + page.Addr().String() + "/meetings/1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`src="(/api/v1/meetings/[0-9]+/media/[^"#]+)`).FindSubmatch(text)
	if link == nil {
		t.Fatalf("no recording on the page: %s", text)
	}
	page.Answer(t, html.UnescapeString(string(link[1])), "")
}

func stall(t *testing.T, all *sync.WaitGroup, l *stalltest.Listener, route string) {
	method, path, _ := bytes.Cut([]byte(route), []byte(" "))
	all.Go(func() { stalltest.Requests(t, l.Addr().String(), string(method), string(path), "") })
}
