package receiver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/archive/inbox"
)

func TestDeliveryIsKeptVerbatim(t *testing.T) {
	r := start(t, Options{})
	body := " " + meeting + "\n"
	if got := r.deliver(t, "msg_1", body); got != 200 {
		t.Fatalf("status %d", got)
	}
	ds := r.pending(t)
	if len(ds) != 1 {
		t.Fatalf("%d deliveries are kept", len(ds))
	}
	d := ds[0]
	if string(d.Body) != body || d.Account != "anna" || d.WebhookID != "msg_1" || d.Kind != inbox.KindWebhook ||
		d.Header.Get("Webhook-Signature") == "" || d.SentAt.IsZero() || d.ReceivedAt.IsZero() {
		t.Errorf("kept as %+v", d)
	}
	if c := r.Counts(); c.Accepted != 1 || c.Duplicates != 0 || len(c.Refused) != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestDuplicatesAreAnsweredOnceCommitted(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	r := startOn(t, filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{
		Fault: func(s inbox.Step, done bool) error {
			if s == inbox.StepCommit && !done {
				<-gate
			}
			return nil
		}}, Options{})
	t.Cleanup(open)
	var wg sync.WaitGroup
	var answered atomic.Int32
	for n := range 8 {
		wg.Go(func() {
			// The same id with eight bodies: the first counts, all are answered.
			if got := r.deliver(t, "msg_1", fmt.Sprintf(`{"recording_id":%d}`, n+1)); got != 200 {
				t.Errorf("status %d", got)
			}
			answered.Add(1)
		})
	}
	time.Sleep(50 * time.Millisecond)
	if n := answered.Load(); n != 0 {
		t.Errorf("%d were answered before the commit", n)
	}
	open()
	wg.Wait()
	if n := len(r.pending(t)); n != 1 {
		t.Errorf("%d deliveries are kept, want 1", n)
	}
	if c := r.Counts(); c.Accepted != 1 || c.Duplicates != 7 {
		t.Errorf("counts %+v", c)
	}
}

// Any secret that is configured for an account verifies, and no other.
func TestEachConfiguredSecretVerifies(t *testing.T) {
	for n, s := range []struct {
		secrets []string
		a, b    int
	}{{[]string{secretA}, 200, 401}, {[]string{secretA, secretB}, 200, 200}, {[]string{secretB}, 401, 200}, {nil, 401, 401}} {
		r := start(t, Options{Accounts: map[string][]string{"anna": s.secrets}})
		post := func(secret, id string) int {
			return send(t, signedRequest(t, r.url, "anna", secret, id, time.Now(), []byte(meeting))).status
		}
		if a, b := post(secretA, "a"), post(secretB, "b"); a != s.a || b != s.b {
			t.Errorf("step %d: %d and %d, want %d and %d", n, a, b, s.a, s.b)
		}
	}
}

func TestRegisteredSecretsCount(t *testing.T) {
	r := start(t, Options{Accounts: map[string][]string{"anna": nil}})
	if got := r.deliver(t, "msg_1", meeting); got != 401 { // an answer also says that the start has read the secrets
		t.Errorf("before the registration: %d", got)
	}
	intent, err := r.inbox.PutIntent(t.Context(), "anna", "https://h.example/webhooks/anna", "{}")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.inbox.PutRegistration(t.Context(), intent, "wh_1", secretA); err != nil {
		t.Fatal(err)
	}
	if got := r.deliver(t, "msg_1", meeting); got != 401 {
		t.Errorf("before the refresh: %d", got)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.deliver(t, "msg_1", meeting); got != 200 {
		t.Errorf("after the refresh: %d", got)
	}
}

// Deliveries sent before their webhook was deleted are still taken, for as long as they
// may be on their way.
func TestADeletedWebhooksSecretEnds(t *testing.T) {
	now := time.Now()
	r := start(t, Options{Accounts: map[string][]string{"anna": nil}, Now: func() time.Time { return now }})
	intent, err := r.inbox.PutIntent(t.Context(), "anna", "https://h.example/webhooks/anna", "{}")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.inbox.PutRegistration(t.Context(), intent, "wh_1", secretA); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.inbox.RemoveRegistration(t.Context(), "anna", "wh_1"); err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{200, 200, 401, 401} {
		if err := r.Refresh(t.Context()); err != nil { // again does not lengthen it
			t.Fatal(err)
		}
		if got := r.deliver(t, fmt.Sprint("msg_", n), meeting); got != want {
			t.Errorf("after %d s: %d, want %d", n*20, got, want)
		}
		now = now.Add(20 * time.Second)
	}
}

// A receiver that is stopped while it starts has not failed.
func TestStopBeforeStart(t *testing.T) {
	box, err := inbox.Open(t.Context(), filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	r, err := New(Options{Inbox: box})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Serve(ctx, ln); err != nil {
		t.Errorf("serving until before the start: %v", err)
	}
}

func TestUnusableSecretsAreRefused(t *testing.T) {
	box, err := inbox.Open(t.Context(), filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	for _, s := range []string{"", "whsec_", "whsec_c2hvcnQ=", "c2hvcnQ=", "whsec_not base64!", "whsec_" + strings.Repeat("A", 19)} {
		_, err := New(Options{Inbox: box, Accounts: map[string][]string{"anna": {secretA, s}}})
		if err == nil {
			t.Errorf("secret %q was taken", s)
			continue
		}
		if len(s) > 6 && strings.Contains(err.Error(), s) {
			t.Errorf("the error repeats the secret: %v", err)
		}
		if !strings.Contains(err.Error(), "anna") {
			t.Errorf("the error does not name the account: %v", err)
		}
	}
}

func TestCallbacks(t *testing.T) {
	var later atomic.Int64 // the inbox's writer reads the clock too
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	r := startOn(t, filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{Now: now}, Options{})
	token, err := r.inbox.NewCallback(t.Context(), "anna", 42, inbox.KindTranscript, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) int {
		req, err := http.NewRequest("POST", r.url+"/callbacks/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return send(t, req).status
	}
	right := `{"transcript":[{"text":"Hello"}]}`
	steps := []struct {
		name, path, body string
		status, kept     int
	}{
		{"another token", "transcript/" + strings.Repeat("A", 43), right, 401, 0},
		{"another kind", "summary/" + token, right, 401, 0},
		{"no such kind", "meeting/" + token, right, 404, 0},
		{"another recording", "transcript/" + token, `{"recording_id":43,"transcript":[]}`, 200, 1},
		{"the answer", "transcript/" + token, right, 200, 2},
		{"its repeat", "transcript/" + token, right, 200, 2},
		{"another body", "transcript/" + token, `{"transcript":[]}`, 200, 2},
	}
	for _, s := range steps {
		if got := post(s.path, s.body); got != s.status {
			t.Errorf("%s: %d, want %d", s.name, got, s.status)
		}
		if n := len(r.pending(t)); n != s.kept {
			t.Errorf("%s: %d kept, want %d", s.name, n, s.kept)
		}
	}
	later.Store(int64(2 * time.Hour))
	if got := post("transcript/"+token, right); got != 200 {
		t.Errorf("a repeat after the time of the token: %d", got)
	}
	for _, d := range r.pending(t) {
		if d.RecordingID != 42 || d.Kind != inbox.KindTranscript || strings.Contains(d.WebhookID, token) {
			t.Errorf("kept as %+v", d)
		}
	}
}
