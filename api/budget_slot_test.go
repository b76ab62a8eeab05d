package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

// A slot is taken until a window after the call's answer, not after its sending:
// the service may have counted it at any moment in between.
func TestASlotIsTakenUntilAWindowAfterTheAnswer(t *testing.T) {
	for _, elapsed := range []time.Duration{0, 5 * time.Second, 40 * time.Second} {
		t.Run(fmt.Sprint(elapsed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter()
				c := clientOver(t, &loopback.Transport{Handler: l, After: func(*http.Request) time.Duration { return elapsed }}, nil)
				start := time.Now()
				var all sync.WaitGroup
				for range 30 {
					all.Go(func() { heavyCall(t, c) })
				}
				all.Wait()
				heavyCall(t, c)
				if left := time.Since(start) - elapsed; left != elapsed+windowLength+windowMargin {
					t.Errorf("after answers that took %v the next call left at %v", elapsed, left)
				}
				if u := c.Budget().Snapshot(); u[0].Used != 1 || u[1].Used != 1 {
					t.Errorf("a heavy call counts in both: %+v", u[:2])
				}
			})
		})
	}
}

func heavyCall(t *testing.T, c *Client) {
	if _, err := c.MeetingsPage(t.Context(), MeetingQuery{IncludeTranscript: true}, ""); err != nil {
		t.Error(err)
	}
}

// After a 429 no call of the connection, of whatever class, leaves before the
// time that was told: by seconds, by a date, by the window's reset, or not at all.
func TestNoCallLeavesBeforeItsTimeAfterARefusal(t *testing.T) {
	for name, c := range map[string]struct {
		headers func(now time.Time) map[string]string
		wait    time.Duration
	}{
		"seconds": {func(time.Time) map[string]string { return map[string]string{"Retry-After": "37"} }, 37 * time.Second},
		"a date": {func(now time.Time) map[string]string {
			return map[string]string{"Retry-After": now.Add(90 * time.Second).UTC().Format(http.TimeFormat)}
		}, 90 * time.Second},
		"a date of a clock that is ahead": {func(now time.Time) map[string]string {
			theirs := now.Add(time.Hour).UTC()
			return map[string]string{"Date": theirs.Format(http.TimeFormat), "Retry-After": theirs.Add(20 * time.Second).Format(http.TimeFormat)}
		}, 20 * time.Second},
		"the reset": {func(time.Time) map[string]string { return map[string]string{"RateLimit-Reset": "23"} }, 23 * time.Second},
		"both": {func(time.Time) map[string]string {
			return map[string]string{"RateLimit-Reset": "5", "Retry-After": "41"}
		}, 41 * time.Second},
		"nothing": {func(time.Time) map[string]string { return nil }, firstRefusal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { refusedOnce(t, c.headers, c.wait) })
		})
	}
}

func refusedOnce(t *testing.T, headers func(time.Time) map[string]string, wait time.Duration) {
	var mu sync.Mutex
	var sent []time.Time
	c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if sent = append(sent, time.Now()); len(sent) == 1 {
			for key, value := range headers(time.Now()) {
				w.Header().Set(key, value)
			}
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, `{"items":[],"next_cursor":null,"download_id":"d","recording_id":1,"status":"processing"}`)
	})
	start := time.Now()
	var all sync.WaitGroup
	for i, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := c.MeetingsPage(ctx, MeetingQuery{IncludeTranscript: true}, "")
			return err
		},
		func(ctx context.Context) error { _, err := c.MeetingsPage(ctx, MeetingQuery{}, ""); return err },
		func(ctx context.Context) error { _, err := c.RequestDownload(ctx, 1, ""); return err },
		func(ctx context.Context) error {
			_, err := c.Download(WithPriority(ctx, PriorityDownload), 1, "d")
			return err
		},
	} {
		all.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			if err := call(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(sent) != 5 {
		t.Fatalf("%d calls", len(sent))
	}
	for _, at := range sent[1:] {
		if after := at.Sub(start); after < wait || after > wait+3*time.Second {
			t.Errorf("a call left after %v, want %v", after, wait)
		}
	}
}

// The limit of download requests is lowered and raised as that of heavy calls.
func TestALoweredDownloadLimitIsLearnedAndLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		w := &watch{RoundTripper: slow(l, rand.New(rand.NewPCG(11, 12)))}
		c := clientOver(t, w, nil)
		ask := func(n int) time.Duration {
			start := time.Now()
			work := make(chan struct{}, n)
			for range n {
				work <- struct{}{}
			}
			close(work)
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					for range work {
						if _, err := c.RequestDownload(t.Context(), 1, ""); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			return time.Since(start)
		}
		lower := func(limit int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.loads = limit
		}
		ask(40)
		lower(5)
		if elapsed := ask(30); elapsed < 5*time.Minute {
			t.Errorf("30 requests at 5 a minute took %v", elapsed)
		}
		if u := c.Budget().Snapshot(); u[2].Limit != 5 || u[1].Limit != 30 || u[0].Limit != 60 {
			t.Errorf("learned %+v", u)
		}
		if w.refused == 0 || w.refused > w.first || w.early > 0 {
			t.Errorf("%d refused with %d in flight at the first; %d left too early", w.refused, w.first, w.early)
		}
		lower(30)
		ask(10)
		time.Sleep(2 * time.Minute)
		if elapsed := ask(30); elapsed > 30*time.Second || c.Budget().Snapshot()[2].Limit != 30 {
			t.Errorf("raised again, 30 requests took %v", elapsed)
		}
	})
}

// A refreshed token does not reset the budget of its connection.
func TestANewTokenHasTheOldBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenService{life: 30}
		h := &http.Client{Transport: &loopback.Transport{Handler: s}}
		budget := NewBudget(BudgetOptions{})
		a, err := NewOAuth(OAuthOptions{Account: "work", BaseURL: testBase, ClientID: "id", ClientSecret: "secret",
			RedirectURL: "https://me.example/oauth", Store: &memoryStore{}, HTTP: h, Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewClient(ClientOptions{BaseURL: testBase, Credential: a, HTTP: h, Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Exchange(t.Context(), "the-code"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		read := func() {
			if _, err := c.Transcript(t.Context(), 1); err != nil {
				t.Error(err)
			}
		}
		for range 30 {
			read()
		}
		time.Sleep(40 * time.Second)
		read()
		if at := time.Since(start); s.n != 2 || at != windowLength+windowMargin {
			t.Errorf("with pair %d the 31st heavy call left at %v", s.n, at)
		}
		if u := budget.Snapshot(); u[3].Class != ClassToken || u[3].Used != 1 {
			t.Errorf("the token endpoint's class: %+v", u[3])
		}
	})
}

// A panic of the transport or of the credential leaves no slot in flight for good.
func TestAPanicGivesItsSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		panics := true
		c := clientOver(t, &loopback.Transport{Handler: l, After: func(*http.Request) time.Duration {
			if panics {
				panic("a fault of the transport")
			}
			return 0
		}}, nil)
		for range 30 {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was swallowed")
					}
				}()
				heavyCall(t, c)
			}()
		}
		if n := len(c.Budget().inFlight); n != 0 {
			t.Errorf("%d slots are in flight", n)
		}
		panics = false
		heavyCall(t, c)
		c.cred = panickingCredential{c.cred}
		func() {
			defer func() { _ = recover() }()
			heavyCall(t, c)
		}()
		if n := len(c.Budget().inFlight); n != 0 {
			t.Errorf("%d slots are in flight after the credential's panic", n)
		}
	})
}

// panickingCredential panics instead of signing a request.
type panickingCredential struct{ Credential }

func (panickingCredential) Apply(context.Context, *http.Request) error {
	panic("a fault of the credential")
}

// A refusal counts in the tightest class of its call, as the log says.
func TestRefusalsCountInTheirClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isRefused := true
		c := testClient(t, func(w http.ResponseWriter, _ *http.Request) {
			if isRefused {
				isRefused = false
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
		})
		heavyCall(t, c)
		if u := c.Budget().Snapshot(); u[0].Refused != 0 || u[1].Refused != 1 {
			t.Errorf("one heavy call was refused: %+v", u[:2])
		}
	})
}
