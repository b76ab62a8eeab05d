package notify

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/internal/outbound"
	"minutebook/internal/smtptest"
)

func sampleMessage() Message {
	return Message{ID: "msg_1", Kind: Problem, Key: "disk", Title: "the disk is nearly full", Text: "free some space", At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

func TestHooks(t *testing.T) {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	send := func(format string) {
		t.Helper()
		h := &Hook{Label: format, URL: server.URL + "/topic-secret", Format: format, Secret: secret, Token: "tk", AllowPrivate: true, Now: time.Now}
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
	mention := sampleMessage()
	mention.Title, mention.Text = "R&D <!here>", "<https://bad.example|Sales> said <!channel>"
	if body, _, err := (&Hook{Format: FormatSlack}).encode(mention); err != nil || json.Unmarshal(body, &text) != nil ||
		text.Text != "*Minutebook: R&amp;D &lt;!here&gt;*\n&lt;https://bad.example|Sales&gt; said &lt;!channel&gt;" {
		t.Errorf("other people's words mention the whole channel: %s, %v", body, err)
	}
}

// TestFailuresAreInWords sends to addresses that are not well: each error says why, wraps
// ErrRefused only where the other side refuses the message, and has nothing of the address.
func TestFailuresAreInWords(t *testing.T) {
	status := http.StatusForbidden
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/secret-elsewhere")
		w.WriteHeader(status)
	}))
	defer server.Close()
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hangsUp := silent.Addr().String()
	go func() {
		for c, err := silent.Accept(); err == nil; c, err = silent.Accept() {
			c.Close()
		}
	}()
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	for _, c := range []struct {
		url, want string
		status    int
		private   bool
		refused   bool
	}{
		{server.URL, "answers 403 Forbidden", http.StatusForbidden, true, true},
		{server.URL, "redirects are not followed", http.StatusFound, true, true},
		{server.URL, "answers 429", http.StatusTooManyRequests, true, false},
		{server.URL, "answers 503", http.StatusServiceUnavailable, true, false},
		{server.URL, "not globally routable", 200, false, false},
		{secure.URL, "authority that this machine does not know", 200, true, false},
		{strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), "certificate", 200, true, false},
		{"http://secret-name.invalid", "its name", 200, true, false},
		{"http://" + nobody, "connection refused", 200, true, false},
		{"http://" + hangsUp, "connection", 200, true, false},
	} {
		status = c.status
		h := &Hook{Label: "phone", URL: c.url + "/topic-secret", Format: FormatNtfy, AllowPrivate: c.private, Token: "secret-token", Now: time.Now}
		beat := callHeartbeat(t.Context(), h.URL, c.private)
		err := h.Send(t.Context(), sampleMessage())
		if err == nil || beat == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(beat.Error(), c.want) || errors.Is(err, ErrRefused) != c.refused {
			t.Errorf("%s: %v, %v", c.want, err, beat)
			continue
		}
		for _, secret := range []string{"secret", "127.0.0.1", "localhost", ".invalid"} {
			if strings.Contains(err.Error()+beat.Error(), secret) {
				t.Errorf("%v, %v: has %s", err, beat, secret)
			}
		}
	}
}

func TestMail(t *testing.T) {
	server, encrypted := smtptest.Start(t, false), smtptest.Start(t, true)
	m := &Mail{Host: "127.0.0.1", Port: server.Port, From: "minutebook@example.com", To: []string{"ada@example.com", "bob@example.com"},
		Username: smtptest.Username, Password: smtptest.Password, TLS: "none", AllowPrivate: true}
	sent := sampleMessage()
	sent.Unsubscribe = "https://minutes.example/unsubscribe/1.x"
	if err := m.Send(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	got := server.Mails()
	if len(got) != 1 || got[0].From != m.From || !slices.Equal(got[0].To, m.To) {
		t.Fatalf("%+v", got)
	}
	for _, part := range []string{"Subject: Minutebook: the disk is nearly full", "Message-ID: <msg_1@minutebook>", "free some space",
		"List-Unsubscribe: <https://minutes.example/unsubscribe/1.x>", "List-Unsubscribe-Post: List-Unsubscribe=One-Click", "Auto-Submitted: auto-generated"} {
		if !strings.Contains(got[0].Data, part) {
			t.Errorf("%q is not in\n%s", part, got[0].Data)
		}
	}
	fails := func(want string, refused bool) {
		t.Helper()
		err := m.Send(t.Context(), sampleMessage())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), smtptest.Password) || errors.Is(err, ErrRefused) != refused {
			t.Errorf("%v, want %q, refused %v", err, want, refused)
		}
	}
	server.Refuse(&smtp.SMTPError{Code: 451, Message: "later"})
	fails("451 \"4.0.0 later", false)
	server.Refuse(&smtp.SMTPError{Code: 554, Message: "no, " + smtptest.Password})
	fails("no, ***", true)
	logins := server.Logins()
	m.TLS = "" // a server without STARTTLS gets neither the password nor the mail
	fails("it does not offer STARTTLS", false)
	m.Port = encrypted.Port
	fails("authority that this machine does not know", false)
	if server.Logins() != logins || encrypted.Logins() != 0 {
		t.Error("the password was sent without TLS")
	}
	m.Port, m.TLS, m.Username = server.Port, "none", smtptest.Password // which the server repeats
	fails("no login with ***", false)
	m.AllowPrivate = false
	if err := m.Send(t.Context(), sampleMessage()); !errors.Is(err, outbound.ErrNotGlobal) {
		t.Errorf("to a private address: %v", err)
	}
}
