package receiver

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
)

const (
	secretA = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	meeting = `{"recording_id":42,"title":"Weekly","created_at":"2026-02-28T08:00:00Z","transcript":[{"text":"Hello"}]}`
)

func TestMain(m *testing.M) {
	if dir, ok := childDir(); ok {
		childMain(dir)
		return
	}
	testrun.Main(m)
}

// running is a receiver that serves.
type running struct {
	*Receiver
	inbox *inbox.Inbox
	url   string
	addr  string
	stop  func() // ends Serve and waits for it
}

// archiveDir makes an archive, so that its inbox can be opened without it.
func archiveDir(t *testing.T) string {
	t.Helper()
	dir := archivetest.Dir(t)
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true})
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// start serves a receiver over a new inbox until the test ends.
func start(t *testing.T, o Options) *running {
	t.Helper()
	return startOn(t, filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{}, o)
}

func startOn(t *testing.T, path string, io inbox.Options, o Options) *running {
	t.Helper()
	io.Create = true
	box, err := inbox.Open(t.Context(), path, io)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	o.Inbox = box
	if o.Accounts == nil {
		o.Accounts = map[string][]string{"anna": {secretA}}
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, ln) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); stop() })
	addr := ln.Addr().String()
	return &running{Receiver: r, inbox: box, url: "http://" + addr, addr: addr, stop: stop}
}

// signedRequest is a delivery to account as a right sender makes it.
func signedRequest(t testing.TB, url, account, secret, id string, at time.Time, body []byte) *http.Request {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := wh.Sign(id, at, body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, url+"/webhooks/"+account, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("Webhook-Signature", signature)
	return req
}

// answer is an answer of the receiver.
type answer struct {
	status int
	body   string
	header http.Header
}

func send(t testing.TB, req *http.Request) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(text), resp.Header}
}

func (r *running) deliver(t testing.TB, id, body string) int {
	t.Helper()
	return send(t, signedRequest(t, r.url, "anna", secretA, id, time.Now(), []byte(body))).status
}

func (r *running) pending(t testing.TB) []inbox.Delivery {
	t.Helper()
	ds, err := r.inbox.Pending(t.Context(), 10000)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}
