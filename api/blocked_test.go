package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

// A kept-alive connection that breaks before the answer: every call that was
// sent has a slot, and net/http repeats none by itself.
func TestEveryCallThatIsSentTakesASlot(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 2 {
			breakOff(t, w, "")
			return
		}
		fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
	}))
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c, err := NewClient(ClientOptions{BaseURL: s.URL, Credential: APIKey("k"), HTTP: &http.Client{Transport: tr}, Rand: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.TeamsPage(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if u := c.Budget().Snapshot()[0]; u.Used != int(calls.Load()) || u.Used != 3 {
		t.Errorf("%d calls were sent and %d slots taken", calls.Load(), u.Used)
	}
}

// A Retry-After of more than a day is kept in full, over restarts and whatever
// the clock says then: calls fail at once. A person may resume.
func TestALongRetryAfterStopsCallsUntilAPersonResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, sent := &memoryStore{}, 0
		var offset time.Duration
		open := func() *Client {
			b := NewBudget(BudgetOptions{Connection: "k", Store: store, Now: func() time.Time { return time.Now().Round(0).Add(offset) }})
			return clientOver(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if sent++; sent == 1 {
					w.Header().Set("Retry-After", "200000")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
			})}, b)
		}
		c := open()
		if err := c.Check(t.Context()); !IsBlocked(err) || !IsAccountRefused(err) {
			t.Fatalf("after a Retry-After of two days: %v", err)
		}
		for _, offset = range []time.Duration{0, -10 * time.Minute, -10 * 365 * 24 * time.Hour} {
			c = open()
			if err := c.Check(t.Context()); !IsBlocked(err) || sent != 1 {
				t.Errorf("after a restart, the clock set by %v: %v, %d calls", offset, err, sent)
			}
		}
		if err := c.Budget().Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := open().Check(t.Context()); err != nil || sent != 2 {
			t.Errorf("resumed: %v, %d calls", err, sent)
		}
	})
}

// slowCredential takes some time, as one that is renewed first.
type slowCredential struct {
	Credential
	wait atomic.Int64 // nanoseconds
}

func (c *slowCredential) Apply(ctx context.Context, r *http.Request) error {
	time.Sleep(time.Duration(c.wait.Load()))
	return c.Credential.Apply(ctx, r)
}

// TestAnAnswerStopsCallsThatWereGranted answers a call while another has its slot and was not sent yet.
func TestAnAnswerStopsCallsThatWereGranted(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		status int
		first  time.Duration // the earliest time of the second call
	}{
		"refused":       {http.Header{"Retry-After": {"3600"}}, http.StatusTooManyRequests, time.Hour},
		"lowered limit": {http.Header{"Ratelimit-Limit": {"1"}, "Ratelimit-Remaining": {"0"}}, http.StatusOK, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, credential := time.Now(), &slowCredential{Credential: APIKey("k-1")}
				const answerTime = 5 * time.Second
				var mu sync.Mutex
				var later []time.Duration // of calls since the answer
				client, err := NewClient(ClientOptions{BaseURL: testBase, Credential: credential, Budget: NewBudget(BudgetOptions{Connection: "k"}),
					HTTP: &http.Client{Transport: &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						if time.Since(start) == 0 {
							time.Sleep(answerTime)
							maps.Copy(w.Header(), c.header)
							w.WriteHeader(c.status)
						} else {
							mu.Lock()
							later = append(later, time.Since(start)-answerTime)
							mu.Unlock()
						}
						fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
					})}}})
				if err != nil {
					t.Fatal(err)
				}
				var group sync.WaitGroup
				check := func() {
					if err := client.Check(t.Context()); err != nil {
						t.Error(err)
					}
				}
				group.Go(check)
				time.Sleep(time.Second)
				credential.wait.Store(int64(10 * time.Second))
				group.Go(check)
				time.Sleep(time.Second)
				credential.wait.Store(0)
				group.Wait()
				if len(later) == 0 || slices.Min(later) < c.first {
					t.Errorf("calls after %v, want none before %v", later, c.first)
				}
			})
		})
	}
}

// The token endpoint of an OAuth app names a time of its own. The accounts of the app show it, and a
// person may resume one of them.
func TestAPersonResumesTheTokenEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuses, tokens := false, &tokenService{life: 3600}
		a, c := connect(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuses && strings.HasSuffix(r.URL.Path, tokenPath) {
				w.Header().Set("Retry-After", "200000")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			tokens.ServeHTTP(w, r)
		})}, &memoryStore{})
		if err := a.Exchange(t.Context(), "the-code"); err != nil {
			t.Fatal(err)
		}
		refuses = true
		time.Sleep(2 * time.Hour)
		if err := c.Check(t.Context()); !IsBlocked(err) {
			t.Fatalf("after a Retry-After of two days: %v", err)
		}
		refuses = false
		if err := c.Check(t.Context()); !IsBlocked(err) {
			t.Errorf("before a person resumes: %v", err)
		}
		used, err := c.Usage(t.Context())
		at := slices.IndexFunc(used, func(u Usage) bool { return u.Class == ClassToken })
		if err != nil || at < 0 || used[at].Blocked.Before(time.Now().Add(24*time.Hour)) {
			t.Errorf("%+v, %v", used, err)
		}
		if err := c.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); err != nil {
			t.Errorf("resumed: %v", err)
		}
	})
}

// A kept budget counts from its saving: a clock that was ahead when it
// was saved frees no slot later than after a window, one set back none earlier.
func TestAKeptBudgetOutlivesClocks(t *testing.T) {
	for _, step := range []time.Duration{-10 * time.Minute, -24 * time.Hour, -10 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memoryStore{}
				var offset time.Duration
				now := func() time.Time { return time.Now().Add(offset) }
				b := NewBudget(BudgetOptions{Connection: "k", Store: store, Now: now})
				c := clientOver(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
				})}, b)
				for range 60 {
					if err := c.Check(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				offset = step
				b = NewBudget(BudgetOptions{Connection: "k", Store: store, Now: now})
				if err := b.Load(t.Context()); err != nil || b.Snapshot()[0].Used != 60 {
					t.Fatalf("right after the restart %d are used, %v", b.Snapshot()[0].Used, err)
				}
				time.Sleep(windowLength + windowMargin)
				if used := b.Snapshot()[0].Used; used != 0 {
					t.Errorf("a window later %d are used", used)
				}
			})
		})
	}
}

func TestResetForms(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "42": 42 * time.Second, "42000": 42 * time.Second, "59999": 59999 * time.Millisecond,
		fmt.Sprint(testTime.Add(30 * time.Second).Unix()):      30 * time.Second,
		fmt.Sprint(testTime.Add(30 * time.Second).UnixMilli()): 30 * time.Second,
		fmt.Sprint(testTime.Add(-time.Hour).UnixMilli()):       0,
	} {
		if got, ok := headerReset(http.Header{"Ratelimit-Reset": {value}}, testTime); !ok || (got-want).Abs() > time.Millisecond {
			t.Errorf("%q is %v, %v; want %v", value, got, ok, want)
		}
	}
	ahead := testTime.Add(time.Hour)
	h := http.Header{"Date": {ahead.Format(http.TimeFormat)}, "Ratelimit-Reset": {fmt.Sprint(ahead.Add(20 * time.Second).Unix())}}
	if got, _ := headerReset(h, testTime); got != 20*time.Second {
		t.Errorf("by the service's clock it is %v, want 20 s", got)
	}
}
