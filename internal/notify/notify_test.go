package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/internal/outbound"
)

// memory is a Store.
type memory struct{ raw []byte }

func (m *memory) Load(context.Context) ([]byte, error)       { return m.raw, nil }
func (m *memory) Save(_ context.Context, state []byte) error { m.raw = state; return nil }

// recording is a Channel that fails while refuse is set.
type recording struct {
	refuse bool
	got    []Message
}

func (r *recording) Name() string { return "recording" }
func (r *recording) Send(_ context.Context, m Message) error {
	if r.refuse {
		return errors.New("refused")
	}
	r.got = append(r.got, m)
	return nil
}

// TestEachConditionIsToldOnce follows a condition through restarts and a channel that
// fails: once when it begins, once when it is over.
func TestEachConditionIsToldOnce(t *testing.T) {
	store, channel := &memory{}, &recording{refuse: true}
	update := func(now ...Condition) error { // a new Notifier each time, as after a restart
		n := &Notifier{Channels: func() []Channel { return []Channel{channel} }, Store: store, Now: time.Now, Logger: zerolog.Nop()}
		return n.Update(t.Context(), now)
	}
	ada := Condition{Key: "account/ada", Title: "account ada needs someone", Text: "connect it again"}
	for range 2 {
		if update(ada) == nil {
			t.Error("a channel that refuses is no error")
		}
	}
	channel.refuse = false
	for range 3 {
		if err := update(ada); err != nil {
			t.Fatal(err)
		}
	}
	if len(channel.got) != 1 || channel.got[0].Kind != Problem || channel.got[0].Title != ada.Title {
		t.Fatalf("told %+v", channel.got)
	}
	for range 2 {
		if err := update(); err != nil {
			t.Fatal(err)
		}
	}
	if len(channel.got) != 2 || channel.got[1].Kind != Over || channel.got[1].Key != ada.Key || channel.got[1].ID == channel.got[0].ID {
		t.Fatalf("told %+v", channel.got[1:])
	}
	if err := update(ada); err != nil || len(channel.got) != 3 {
		t.Errorf("it comes again: %d messages, %v", len(channel.got), err)
	}
}

func sampleMessage() Message {
	return Message{ID: "msg_1", Kind: Problem, Key: "disk", Title: "the disk is nearly full", Text: "free some space", At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

func TestHooks(t *testing.T) {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	var header http.Header
	var body []byte
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
	}))
	defer server.Close()
	send := func(format string) {
		t.Helper()
		h := &Hook{Label: format, URL: server.URL + "/topic-secret", Format: format, Secret: secret, Token: "tk", AllowPrivate: true}
		if err := h.Send(t.Context(), sampleMessage()); err != nil {
			t.Fatal(err)
		}
	}
	send(FormatWebhook)
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	var m Message
	if err := key.Verify(body, header); err != nil || json.Unmarshal(body, &m) != nil || m != sampleMessage() {
		t.Errorf("%s: %v", body, err)
	}
	send(FormatNtfy)
	if string(body) != "free some space" || header.Get("Title") != "Minutebook: the disk is nearly full" || header.Get("Priority") != "high" || header.Get("Authorization") != "Bearer tk" {
		t.Errorf("ntfy: %s %v", body, header)
	}
	send(FormatSlack)
	var text struct{ Text string }
	if err := json.Unmarshal(body, &text); err != nil || !strings.Contains(text.Text, "nearly full*\nfree some space") {
		t.Errorf("slack: %s", body)
	}
	if err := Beat(t.Context(), server.URL, true); err != nil {
		t.Error(err)
	}
	status = http.StatusForbidden
	h := &Hook{Label: "ntfy", URL: server.URL + "/topic-secret", Format: FormatNtfy, AllowPrivate: true}
	refused := h.Send(t.Context(), sampleMessage())
	h.AllowPrivate = false
	private := h.Send(t.Context(), sampleMessage())
	if refused == nil || !errors.Is(private, outbound.ErrNotGlobal) || strings.Contains(refused.Error()+private.Error(), "topic-secret") {
		t.Errorf("%v; %v", refused, private)
	}
}

// smtpServer accepts mails as a server without TLS does, and returns them.
func smtpServer(t *testing.T) (port int, received func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got strings.Builder
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				serveSMTP(c, func(line string) {
					mu.Lock()
					defer mu.Unlock()
					got.WriteString(line)
				})
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().(*net.TCPAddr).Port, func() string {
		mu.Lock()
		defer mu.Unlock()
		return got.String()
	}
}

// serveSMTP speaks the server's side of one connection.
func serveSMTP(c net.Conn, record func(string)) {
	lines := bufio.NewReader(c)
	answer := func(text string) { io.WriteString(c, text+"\r\n") }
	answer("220 test ESMTP")
	for data := false; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		record(line)
		verb := strings.ToUpper(strings.TrimSpace(line))
		switch {
		case data && verb == ".":
			data = false
			answer("250 taken")
		case data:
		case strings.HasPrefix(verb, "EHLO"):
			answer("250-test\r\n250 AUTH PLAIN")
		case strings.HasPrefix(verb, "AUTH"):
			answer("235 welcome")
		case verb == "DATA":
			data = true
			answer("354 go on")
		case verb == "QUIT":
			answer("221 bye")
			return
		default:
			answer("250 ok")
		}
	}
}

func TestMail(t *testing.T) {
	port, received := smtpServer(t)
	m := &Mail{Host: "127.0.0.1", Port: port, From: "minutebook@example.com", To: []string{"ada@example.com", "bob@example.com"},
		Username: "u", Password: "hidden-password", TLS: "none", AllowPrivate: true}
	if err := m.Send(t.Context(), sampleMessage()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"MAIL FROM:<minutebook@example.com>", "RCPT TO:<ada@example.com>", "RCPT TO:<bob@example.com>",
		"Subject: Minutebook: the disk is nearly full", "Message-ID: <msg_1@minutebook>", "free some space"} {
		if !strings.Contains(received(), part) {
			t.Errorf("%q is not in\n%s", part, received())
		}
	}
	m.TLS = "" // a server without STARTTLS gets neither the password nor the mail
	before := strings.Count(received(), "AUTH")
	err := m.Send(t.Context(), sampleMessage())
	if err == nil || strings.Contains(err.Error(), "hidden-password") || strings.Count(received(), "AUTH") != before {
		t.Errorf("without TLS: %v", err)
	}
	m.TLS, m.AllowPrivate = "none", false
	if err := m.Send(t.Context(), sampleMessage()); !errors.Is(err, outbound.ErrNotGlobal) {
		t.Errorf("to a private address: %v", err)
	}
}
