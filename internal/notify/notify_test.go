package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/internal/outbound"
	"minutebook/internal/smtptest"
)

// memory is a Store that can be full.
type memory struct {
	raw   []byte
	full  bool
	saves int
}

func (m *memory) Load(context.Context) ([]byte, error) { return m.raw, nil }
func (m *memory) Save(_ context.Context, state []byte) error {
	if m.full {
		return errors.New("disk full")
	}
	m.raw, m.saves = state, m.saves+1
	return nil
}

// recorded is a Channel that answers what refuse says.
type recorded struct {
	name   string
	refuse func(Message) error
	mu     sync.Mutex // guards got
	got    []Message
}

func (r *recorded) Name() string { return r.name }
func (r *recorded) Send(_ context.Context, m Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		if err := r.refuse(m); err != nil {
			return err
		}
	}
	r.got = append(r.got, m)
	return nil
}

// titles returns what the channel was told.
func (r *recorded) titles() (titles []string) {
	for _, m := range r.got {
		titles = append(titles, m.Title)
	}
	return titles
}

func down(Message) error { return errors.New("it does not answer") }

// bench is a Notifier whose clock, store and channels a test changes.
type bench struct {
	*testing.T
	*Notifier
	store    *memory
	now      time.Time
	channels []Channel
	log      strings.Builder
}

func newBench(t *testing.T, channels ...Channel) *bench {
	b := &bench{T: t, store: &memory{}, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), channels: channels}
	b.restart()
	return b
}

// restart begins as a new process does.
func (b *bench) restart() {
	b.Notifier = &Notifier{Channels: func() []Channel { return b.channels }, Store: b.store, Random: rand.Reader,
		Now: func() time.Time { return b.now }, Logger: zerolog.New(&b.log)}
}

// update looks a minute later.
func (b *bench) update(now ...Condition) {
	b.Helper()
	b.now = b.now.Add(time.Minute)
	if err := b.Update(b.Context(), now); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) expect(c *recorded, titles ...string) {
	b.Helper()
	if got := c.titles(); !slices.Equal(got, titles) {
		b.Fatalf("%s was told %q, want %q", c.name, got, titles)
	}
}

var (
	ada  = Condition{Key: "account/ada", Title: "ada", Text: "connect it again"}
	disk = Condition{Key: "disk", Title: "disk", Text: "free some space"}
)

// TestEachConditionIsToldOnce follows a condition through restarts and a channel that
// fails: once when it begins, once when it is over.
func TestEachConditionIsToldOnce(t *testing.T) {
	c := &recorded{name: "c", refuse: down}
	b := newBench(t, c)
	for range 2 {
		b.update(ada)
		b.restart()
	}
	b.expect(c)
	c.refuse = nil
	for range 3 {
		b.update(ada)
		b.restart()
	}
	b.expect(c, "ada")
	for range 2 {
		b.update()
		b.restart()
	}
	b.expect(c, "ada", "over: ada")
	if began, over := c.got[0], c.got[1]; began.Kind != Problem || over.Kind != Over || over.Key != ada.Key || over.ID == began.ID {
		t.Errorf("told %+v", c.got)
	}
	b.update(ada)
	b.expect(c, "ada", "over: ada", "ada")
	saves := b.store.saves
	if b.update(ada); b.store.saves != saves {
		t.Error("nothing is new, and the state is written")
	}
}

// TestAFullDiskIsTold cannot save the state, and tells each thing once all the same.
func TestAFullDiskIsTold(t *testing.T) {
	c := &recorded{name: "c"}
	b := newBench(t, c)
	b.store.full = true
	for range 2 {
		if b.Update(t.Context(), []Condition{disk}) == nil {
			t.Error("a state that is not kept is no error")
		}
	}
	b.expect(c, "disk")
	b.store.full = false
	b.update(disk)
	b.restart()
	b.update()
	b.expect(c, "disk", "over: disk")
}

// TestChannelsComeAndGo changes the channels as a reload does.
func TestChannelsComeAndGo(t *testing.T) {
	first, second := &recorded{name: "first", refuse: down}, &recorded{name: "second"}
	b := newBench(t)
	b.update(ada) // for a heartbeat alone: nobody is told
	b.channels = []Channel{first}
	b.update(ada)
	b.channels = []Channel{second} // the first goes with what waits for it
	b.update(ada)
	b.expect(second, "ada")
	first.refuse, b.channels = nil, []Channel{first, second}
	b.update(disk)
	b.expect(first, "disk")
	b.expect(second, "ada", "disk", "over: ada")
}

// TestARefusedMessageDelaysNoOther has a channel that refuses one message for ever, and is
// given up after a week.
func TestARefusedMessageDelaysNoOther(t *testing.T) {
	c, tries := &recorded{name: "c"}, 0
	c.refuse = func(m Message) error {
		if m.Key == "disk" {
			tries++
			return fmt.Errorf("send to c: %w", ErrRefused)
		}
		return nil
	}
	b := newBench(t, c)
	b.update(disk, ada)
	b.expect(c, "ada")
	for range 8 * 24 * 60 {
		b.update(disk, ada)
	}
	b.expect(c, "ada")
	if tries < 7*24 || tries > 7*24*8 || strings.Count(b.log.String(), "given up") != 1 || strings.Count(b.log.String(), "cannot be told") != 1 {
		t.Errorf("%d tries: %s", tries, &b.log)
	}
}

// TestASlowChannelDelaysNoOther has a channel that answers only when another one was told.
func TestASlowChannelDelaysNoOther(t *testing.T) {
	told := make(chan struct{})
	slow := &recorded{name: "slow", refuse: func(Message) error { <-told; return nil }}
	fast := &recorded{name: "fast", refuse: func(Message) error { close(told); return nil }}
	b := newBench(t, slow, fast)
	b.update(ada)
	b.expect(slow, "ada")
	b.expect(fast, "ada")
}

// TestTheClockIsSetBack sends on, and calls the heartbeat address, by a clock that was
// ahead.
func TestTheClockIsSetBack(t *testing.T) {
	beats := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats++ }))
	defer server.Close()
	c := &recorded{name: "c", refuse: down}
	b := newBench(t, c)
	beat := func() {
		t.Helper()
		if err := b.Beat(t.Context(), b.now, server.URL, true); err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.AddDate(1, 0, 0)
	b.update(ada)
	beat()
	beat() // the same success
	b.now = b.now.AddDate(-1, 0, 0)
	c.refuse = nil
	b.update(ada)
	beat()
	b.expect(c, "ada")
	if beats != 2 {
		t.Errorf("%d beats, want 2", beats)
	}
}

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
	if err := m.Send(t.Context(), sampleMessage()); err != nil {
		t.Fatal(err)
	}
	got := server.Mails()
	if len(got) != 1 || got[0].From != m.From || !slices.Equal(got[0].To, m.To) {
		t.Fatalf("%+v", got)
	}
	for _, part := range []string{"Subject: Minutebook: the disk is nearly full", "Message-ID: <msg_1@minutebook>", "free some space"} {
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
	fails("STARTTLS", false)
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
