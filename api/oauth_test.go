package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

// tokenService issues rotating pairs: a refresh token works once.
type tokenService struct {
	mu      sync.Mutex
	n       int    // pairs issued
	refused string // an error code to answer instead
	life    int    // expires_in
}

func (s *tokenService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path != "/external/v1/oauth2/token" {
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer access-%d", s.n) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
		return
	}
	good := r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == fmt.Sprintf("refresh-%d", s.n) ||
		r.FormValue("grant_type") == "authorization_code" && r.FormValue("code") == "the-code" && r.FormValue("redirect_uri") == "https://me.example/oauth"
	if s.refused != "" || !good || r.FormValue("client_id") != "id" || r.FormValue("client_secret") != "secret" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q}`, s.refused)
		return
	}
	s.n++
	fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":"refresh-%d","expires_in":%d,"token_type":"bearer"}`, s.n, s.n, s.life)
}

// memoryStore is a store whose saving can be made to fail.
type memoryStore struct {
	mu   sync.Mutex
	data map[string][]byte
	fail error
	n    int // saves
}

func (m *memoryStore) load(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[key], nil
}

func (m *memoryStore) save(key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.n++
	m.data[key] = v
	return nil
}

// clone returns the store that a new process finds when this one is killed now.
func (m *memoryStore) clone() *memoryStore {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &memoryStore{data: maps.Clone(m.data)}
}

func (m *memoryStore) LoadToken(_ context.Context, a string) ([]byte, error)  { return m.load("t" + a) }
func (m *memoryStore) SaveToken(_ context.Context, a string, v []byte) error  { return m.save("t"+a, v) }
func (m *memoryStore) LoadBudget(_ context.Context, c string) ([]byte, error) { return m.load("b" + c) }
func (m *memoryStore) SaveBudget(_ context.Context, c string, v []byte) error {
	return m.save("b"+c, v)
}

func connect(t *testing.T, tr http.RoundTripper, store TokenStore) (*OAuth, *Client) {
	t.Helper()
	h := &http.Client{Transport: tr}
	a, err := NewOAuth(OAuthOptions{Account: "work", BaseURL: testBase, ClientID: "id", ClientSecret: "secret",
		RedirectURL: "https://me.example/oauth", Store: store, HTTP: h})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientOptions{BaseURL: testBase, Credential: a, HTTP: h})
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

func TestOAuthConnectsRenewsAndRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := &tokenService{life: 86400}, &memoryStore{}
		tr := &loopback.Transport{Handler: s, Before: func(*http.Request) time.Duration { return time.Second }}
		a, c := connect(t, tr, store)
		if err := c.Check(t.Context()); !NeedsReconnect(err) || !strings.Contains(err.Error(), "minutebook auth login work") {
			t.Fatalf("before it is connected: %v", err)
		}
		address, err := a.AuthorizeURL("st")
		if err != nil || !strings.HasPrefix(address, testBase+"/oauth2/authorize?") || !strings.Contains(address, "scope=public_api") {
			t.Fatalf("authorize at %s, %v", address, err)
		}
		code, err := CodeFrom("https://me.example/oauth?code=the-code&state=st", "st")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Exchange(t.Context(), code); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(86400*time.Second - time.Minute)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := c.Check(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if s.n != 2 {
			t.Errorf("%d pairs were issued, want one refresh for all", s.n)
		}
		_, again := connect(t, tr, store)
		if err := again.Check(t.Context()); err != nil || s.n != 2 {
			t.Errorf("after a restart: %v, %d pairs", err, s.n)
		}
		s.mu.Lock()
		s.n = 2 // and a token that is void before its time
		store.data["twork"] = []byte(`{"access_token":"stale","refresh_token":"refresh-2","obtained_at":"2000-01-01T00:00:00Z"}`)
		s.mu.Unlock()
		_, again = connect(t, tr, store)
		if err := again.Check(t.Context()); err != nil || s.n != 3 {
			t.Errorf("after a 401: %v, %d pairs", err, s.n)
		}
	})
}

func TestOAuthNeverUsesAPairThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := &tokenService{life: 600}, &memoryStore{}
		a, c := connect(t, &loopback.Transport{Handler: s}, store)
		if err := a.Exchange(t.Context(), "the-code"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		store.fail = errors.New("disk full")
		for range 2 {
			if err := c.Check(t.Context()); !errors.Is(err, store.fail) || s.n != 2 {
				t.Fatalf("%v with %d pairs issued, want the store's error and one refresh", err, s.n)
			}
		}
		store.fail = nil
		if err := c.Check(t.Context()); err != nil || s.n != 2 {
			t.Errorf("after the disk has room again: %v, %d pairs", err, s.n)
		}
		if got := string(store.data["twork"]); !strings.Contains(got, "refresh-2") {
			t.Errorf("stored %s", got)
		}
	})
}

func TestOAuthSaysReconnectWhenThePairIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := &tokenService{life: 600}, &memoryStore{}
		lose := false
		tr := &loopback.Transport{Handler: s, Fail: func(r *http.Request, answered bool) error {
			if lose && answered && strings.HasSuffix(r.URL.Path, "/token") {
				return syscall.ECONNRESET
			}
			return nil
		}}
		a, c := connect(t, tr, store)
		if err := a.Exchange(t.Context(), "the-code"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		lose = true
		if err := c.Check(t.Context()); NeedsReconnect(err) || err == nil {
			t.Fatalf("while the line is broken: %v", err)
		}
		lose = false
		if err := c.Check(t.Context()); !NeedsReconnect(err) {
			t.Fatalf("with the pair lost: %v", err)
		}
		issued := s.n
		a, c = connect(t, tr, store)
		if st, err := a.Status(t.Context()); err != nil || st.Connected || st.Reconnect == "" {
			t.Errorf("status after a restart: %+v, %v", st, err)
		}
		if err := c.Check(t.Context()); !NeedsReconnect(err) || s.n != issued {
			t.Errorf("it did not stay parked: %v", err)
		}
		if err := a.Exchange(t.Context(), "the-code"); err != nil || c.Check(t.Context()) != nil {
			t.Errorf("connected again: %v", err)
		}
	})
}

func TestARefusedAppIsNoLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenService{life: 600}
		a, c := connect(t, &loopback.Transport{Handler: s}, &memoryStore{})
		if err := a.Exchange(t.Context(), "the-code"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		s.refused = "invalid_client"
		if err := c.Check(t.Context()); err == nil || NeedsReconnect(err) || !strings.Contains(err.Error(), "invalid_client") {
			t.Errorf("got %v", err)
		}
		s.refused = ""
		if err := c.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := c.MeetingsPage(t.Context(), MeetingQuery{IncludeSummary: true}, ""); !errors.Is(err, ErrInlineContent) {
			t.Errorf("summaries on the list: %v", err)
		}
	})
}

func TestARefreshOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := &tokenService{life: 600}, &memoryStore{}
		a, c := connect(t, &loopback.Transport{Handler: s, After: func(*http.Request) time.Duration { return 5 * time.Second }}, store)
		if err := a.Exchange(t.Context(), "the-code"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got := string(store.data["twork"]); !strings.Contains(got, "refresh-2") {
			t.Errorf("the rotated pair was lost; stored %s", got)
		}
	})
}

func TestCodeFromRefusesWhatIsNotItsAnswer(t *testing.T) {
	for _, address := range []string{"", "https://me.example/?code=c", "https://me.example/?code=c&state=other", "https://me.example/?state=st", "https://me.example/?error=access_denied&state=st", "%zz"} {
		if code, err := CodeFrom(address, "st"); err == nil {
			t.Errorf("%q gave %q", address, code)
		}
	}
	if code, err := CodeFrom(" ?state=st&code=c%2F1 ", "st"); err != nil || code != "c/1" {
		t.Errorf("got %q, %v", code, err)
	}
}
