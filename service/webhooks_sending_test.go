package service

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestRetriesKeepTheirIDAndTheSchedule moves the clock over the whole schedule.
func TestRetriesKeepTheirIDAndTheSchedule(t *testing.T) {
	s := newSandbox(t, Options{Hold: 1}, meeting(1))
	in := newInbox(t, func(n int) int { return []int{500, 404, 302, 500, 500, 500, 500, 503}[min(n-1, 7)] })
	hook := s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	wh, err := standardwebhooks.NewWebhook(hook.Secret)
	if err != nil {
		t.Fatal(err)
	}
	waits := []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	var id, first string
	for i, wait := range waits {
		if wait > 0 {
			s.clock.add(wait - time.Millisecond)
			if due := s.dueNow(); len(due) != 0 {
				t.Fatalf("attempt %d is due %v early", i+1, time.Millisecond)
			}
			s.clock.add(time.Millisecond)
		}
		due := s.dueNow()
		if len(due) != 1 {
			t.Fatalf("attempt %d: %d are due", i+1, len(due))
		}
		if err := s.attempt(t.Context(), &due[0]); err != nil {
			t.Fatal(err)
		}
		d := in.next(t)
		if i == 0 {
			id, first = d.header.Get("webhook-id"), string(d.body)
		}
		if d.header.Get("webhook-id") != id || string(d.body) != first {
			t.Errorf("attempt %d has another id or body", i+1)
		}
		if at := d.header.Get("webhook-timestamp"); at != fmt.Sprint(s.clock.Now().Unix()) {
			t.Errorf("attempt %d is dated %s", i+1, at)
		}
		if err := wh.VerifyIgnoringTimestamp(d.body, d.header); err != nil {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
	list, err := s.Deliveries(t.Context(), "", 10)
	if err != nil || len(list) != 1 || list[0].State != "failed" || list[0].Attempts != 8 || list[0].LastStatus != 503 {
		t.Errorf("in the end: %+v, %v", list, err)
	}
	if len(in.got) != 0 {
		t.Error("a redirect was followed")
	}
}

func (s *sandbox) dueNow() []outgoing {
	s.t.Helper()
	due, _, err := s.store.readDue(s.t.Context(), s.clock.Now(), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return due
}

func TestAnEndpointThatFailsForFiveDaysIsDisabled(t *testing.T) {
	var lines []string
	for id := 1; id <= 8; id++ {
		lines = append(lines, meeting(id))
	}
	s := newSandbox(t, Options{Hold: 8}, lines...)
	in := newInbox(t, func(int) int { return 500 })
	ann := s.key("ann@acme.example")
	s.webhook(ann, in.URL, `"my_recordings"`)
	disabledAt := -1
	for day := range 7 {
		if _, _, err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, o := range s.dueNow() {
			if err := s.attempt(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
		}
		hooks, err := s.Hooks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !hooks[0].DisabledAt.IsZero() && disabledAt < 0 {
			disabledAt = day
			if !strings.Contains(hooks[0].Reason, "five days") {
				t.Errorf("the reason is %q", hooks[0].Reason)
			}
		}
		s.clock.add(24 * time.Hour)
	}
	if disabledAt != 5 {
		t.Errorf("disabled on day %d, want 5", disabledAt)
	}
	if due := s.dueNow(); len(due) != 0 {
		t.Errorf("%d are still to be sent", len(due))
	}
}

func TestTheQueueOutlivesARestart(t *testing.T) {
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	s := newSandbox(t, Options{Archive: a, Sandbox: true, Hold: 1}, meeting(1))
	in := newInbox(t, nil)
	s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := s.dueNow()[0].messageID
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSandbox(t, Options{Archive: openTestArchive(t, dir), Sandbox: true})
	s.run()
	if d := in.next(t); d.header.Get("webhook-id") != id {
		t.Errorf("sent with id %s, fixed before as %s", d.header.Get("webhook-id"), id)
	}
}

func TestNothingIsSentToPrivateAddressesUnlessAllowed(t *testing.T) {
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	s := newSandbox(t, Options{}, meeting(1))
	private, err := New(t.Context(), Options{Archive: openTestArchive(t, ArchiveDir(t)), Sandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	byName := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{srv.URL, byName} {
		out := private.send(t.Context(), &outgoing{url: url, body: []byte("{}")}, "")
		if out.ok || reached || !strings.Contains(out.reason, "not globally routable") {
			t.Errorf("%+v, reached %v", out, reached)
		}
		if out := s.send(t.Context(), &outgoing{url: url, body: []byte("{}")}, ""); !out.ok || !reached {
			t.Errorf("allowed, but %+v", out)
		}
		reached = false
	}
}

// TestEachAttemptChecksTheCertificate sends to an endpoint whose certificate holds at
// first and does not hold any more.
func TestEachAttemptChecksTheCertificate(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	trusted := x509.NewCertPool()
	trusted.AddCert(srv.Certificate())
	config := &tls.Config{RootCAs: trusted}
	s.client.Transport.(*http.Transport).TLSClientConfig = config
	send := func() outcome {
		return s.send(t.Context(), &outgoing{url: srv.URL, body: []byte("{}")}, "")
	}
	if out := send(); !out.ok {
		t.Fatalf("while the certificate holds: %+v", out)
	}
	config.RootCAs = x509.NewCertPool()
	if out := send(); out.ok || !strings.Contains(out.reason, "an authority that this machine does not know") {
		t.Errorf("when it holds no more: %+v", out)
	}
}

// An endpoint has 15 seconds; one that has not answered then is tried again.
func TestAnEndpointThatDoesNotAnswerFails(t *testing.T) {
	s := newSandbox(t, Options{Hold: 1}, meeting(1))
	if s.client.Timeout != 15*time.Second {
		t.Errorf("an endpoint has %v", s.client.Timeout)
	}
	s.client.Timeout = 50 * time.Millisecond
	release := make(chan struct{})
	in := newInbox(t, func(int) int { <-release; return 200 })
	defer close(release)
	s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	due := s.dueNow()
	if err := s.attempt(t.Context(), &due[0]); err != nil {
		t.Fatal(err)
	}
	list, err := s.Deliveries(t.Context(), "", 10)
	if err != nil || len(list) != 1 || list[0].State != "pending" || list[0].LastError != "no answer in time" || !list[0].NextAt.Equal(s.clock.Now().Add(5*time.Second)) {
		t.Errorf("%+v: %v", list, err)
	}
}
