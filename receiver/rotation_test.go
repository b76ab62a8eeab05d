package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/archive/inbox"
)

// register keeps a webhook with its secret, as `webhook create` does.
func register(t *testing.T, box *inbox.Inbox, account, id, secret string) {
	t.Helper()
	intent, err := box.PutIntent(t.Context(), account, "https://hooks.example/webhooks/"+account, "{}")
	if err == nil {
		err = box.PutRegistration(t.Context(), intent, id, secret)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// slowInbox is an inbox whose first answer to Registrations waits.
type slowInbox struct {
	Inbox
	slow    atomic.Bool
	waits   chan struct{} // closed when the answer waits
	release chan struct{}
}

func (s *slowInbox) Registrations(ctx context.Context, account string) ([]inbox.Registration, error) {
	all, err := s.Inbox.Registrations(ctx, account)
	if s.slow.CompareAndSwap(true, false) {
		close(s.waits)
		<-s.release
	}
	return all, err
}

// A Refresh that has read the webhooks before another one was registered does not take
// the new one's secret away.
func TestRefreshesTogetherKeepTheNewestSecrets(t *testing.T) {
	box, err := inbox.Open(t.Context(), filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	slow := &slowInbox{Inbox: box, waits: make(chan struct{}), release: make(chan struct{})}
	slow.slow.Store(true)
	r, err := New(Options{Inbox: slow, Accounts: map[string][]string{"anna": {secretA}}})
	if err != nil {
		t.Fatal(err)
	}
	earlier, later := make(chan error, 1), make(chan error, 1)
	go func() { earlier <- r.Refresh(t.Context()) }()
	<-slow.waits
	register(t, box, "anna", "hook-1", secretB)
	go func() { later <- r.Refresh(t.Context()) }()
	select { // whether the later one waits or not
	case err := <-later:
		later <- err
	case <-time.After(50 * time.Millisecond):
	}
	close(slow.release)
	for _, done := range []chan error{earlier, later} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if k := r.keys.Load(); len(k.accounts["anna"]) != 2 || !k.accounts["anna"][1].until.IsZero() {
		t.Errorf("the secrets of anna are %+v, not the configured and the registered one", k.accounts["anna"])
	}
}

// A configured secret that a reload has removed verifies for half a minute more, also a
// delivery whose body comes after the reload; an account that is gone has none.
func TestRemovedConfiguredSecretsOverlap(t *testing.T) {
	var ahead atomic.Int64
	r := start(t, Options{Accounts: map[string][]string{"anna": {secretA}, "bert": {secretA}}, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	ask := func(account, secret, id string) int {
		return send(t, signedRequest(t, r.url, account, secret, id, r.o.Now(), []byte(meeting))).status
	}
	body, rest := io.Pipe()
	req := signedRequest(t, r.url, "anna", secretA, "under-way", time.Now(), []byte(meeting))
	req.Body, req.ContentLength = body, int64(len(meeting))
	answered := make(chan int, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	if _, err := rest.Write([]byte(meeting[:10])); err != nil {
		t.Fatal(err)
	}
	if err := r.SetAccounts(map[string][]string{"anna": {secretB}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rest.Write([]byte(meeting[10:])); err != nil {
		t.Fatal(err)
	}
	rest.Close()
	if code := <-answered; code != 200 {
		t.Errorf("a delivery that was under way: %d", code)
	}
	for _, c := range []struct {
		account, secret string
		after           time.Duration
		want            int
	}{
		{"anna", secretB, 0, 200}, {"anna", secretA, 0, 200}, {"bert", secretA, 0, 401}, {"bert", secretB, 0, 401},
		{"anna", secretA, overlap - time.Second, 200}, {"anna", secretA, overlap + time.Second, 401}, {"anna", secretB, overlap + time.Second, 200},
	} {
		ahead.Store(int64(c.after))
		if code := ask(c.account, c.secret, strings.ReplaceAll(fmt.Sprint(c), " ", "-")); code != c.want {
			t.Errorf("%s by secret %.10s %v after the reload: %d, want %d", c.account, c.secret, c.after, code, c.want)
		}
	}
	ahead.Store(0)
	if err := r.SetAccounts(map[string][]string{"anna": {secretA}}, nil); err != nil { // taken back
		t.Fatal(err)
	}
	ahead.Store(int64(2 * overlap))
	if code := ask("anna", secretA, "back"); code != 200 {
		t.Errorf("a secret that was put back: %d", code)
	}
}

// The webhooks of an account that leaves the configuration verify nothing from then on,
// deleted ones neither; with the account they come back.
func TestWebhooksEndWithTheirAccount(t *testing.T) {
	r := start(t, Options{Accounts: map[string][]string{"anna": nil, "bert": {secretA}}})
	n := 0
	want := func(when string, code int, secrets ...string) {
		t.Helper()
		for _, secret := range secrets {
			n++
			if got := send(t, signedRequest(t, r.url, "anna", secret, fmt.Sprint(n), time.Now(), []byte(meeting))); got.status != code {
				t.Errorf("%s: %d by %.10s, want %d", when, got.status, secret, code)
			}
		}
	}
	set := func(accounts ...string) {
		t.Helper()
		secrets := map[string][]string{}
		for _, account := range accounts {
			secrets[account] = nil
		}
		if err := errors.Join(r.SetAccounts(secrets, nil), r.Refresh(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	register(t, r.inbox, "anna", "hook-1", secretA)
	register(t, r.inbox, "anna", "hook-2", secretB)
	set("anna", "bert")
	want("configured", 200, secretA, secretB)
	if err := r.inbox.RemoveRegistration(t.Context(), "anna", "hook-2"); err != nil {
		t.Fatal(err)
	}
	set("anna", "bert")
	want("deleted a moment ago", 200, secretB)
	set("bert")
	want("without the account", 401, secretA, secretB)
	unknown := send(t, signedRequest(t, r.url, "nobody", secretA, "x", time.Now(), []byte(meeting)))
	if left := send(t, signedRequest(t, r.url, "anna", secretA, "x", time.Now(), []byte(meeting))); left.status != unknown.status || left.body != unknown.body {
		t.Errorf("an account that left is answered %d %q, an unknown one %d %q", left.status, left.body, unknown.status, unknown.body)
	}
	if got := len(r.pending(t)); got != 3 {
		t.Errorf("%d deliveries are kept, want the 3 that were accepted", got)
	}
	set("anna", "bert")
	want("with the account again", 200, secretA)
	want("with the account again", 401, secretB)
}

// Secrets that change again and again, by reloads and by registered webhooks, while
// deliveries come: those signed with a secret that is in force, or was half a minute ago,
// are taken, and no others.
func TestSecretsChangeUnderLoad(t *testing.T) {
	r := start(t, Options{Accounts: map[string][]string{"anna": {secretA}}})
	const wrong = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var sent atomic.Int64
	sender := func(name, account, secret string, want int) {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				code := send(t, signedRequest(t, r.url, account, secret, fmt.Sprint(name, n), time.Now(), []byte(meeting))).status
				if code != want {
					t.Errorf("delivery %d by %s: %d, want %d", n, name, code, want)
					return
				}
				sent.Add(1)
			}
		})
	}
	register(t, r.inbox, "anna", "hook0", secretB)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	sender("configured", "anna", secretA, 200)
	sender("registered", "anna", secretB, 200)
	sender("wrong", "anna", wrong, 401)
	sender("another's", "bert", secretA, 401)
	for n := range 30 {
		configured := []string{secretA}
		if n%2 == 0 {
			configured = []string{"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oE"}
		}
		if err := r.SetAccounts(map[string][]string{"anna": configured}, nil); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			err := r.inbox.RemoveRegistration(t.Context(), "anna", fmt.Sprint("hook", n))
			if err != nil {
				t.Fatal(err)
			}
		} else {
			register(t, r.inbox, "anna", fmt.Sprint("hook", n+1), secretB)
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := r.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	for sent.Load() < 50 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	wg.Wait()
}
