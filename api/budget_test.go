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

// slow is a transport whose calls take 0.5 to 3 s, counted at any moment of it.
func slow(h http.Handler, r *rand.Rand) *loopback.Transport {
	var mu sync.Mutex
	times := map[*http.Request]time.Duration{}
	return &loopback.Transport{Handler: h,
		Before: func(req *http.Request) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			total := 500*time.Millisecond + time.Duration(r.Int64N(int64(2500*time.Millisecond)))
			before := time.Duration(r.Int64N(int64(total)))
			times[req] = total - before
			return before
		},
		After: func(req *http.Request) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			defer delete(times, req)
			return times[req]
		}}
}

// heavyCalls makes n heavy calls, as many at once as the budget lets, and
// returns how long it took. tick is called after each.
func heavyCalls(t *testing.T, c *Client, n int, tick func(done int)) time.Duration {
	t.Helper()
	start := time.Now()
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 40 {
		all.Go(func() {
			for range work {
				if _, err := c.MeetingsPage(t.Context(), MeetingQuery{IncludeTranscript: true}, ""); err != nil {
					t.Error(err)
				}
				mu.Lock()
				done++
				if tick != nil {
					tick(done)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

func TestAtTheLimitNeverOverIt(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		for _, headers := range []bool{true, false} {
			t.Run(fmt.Sprintf("fixed=%v,headers=%v", fixed, headers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLimiter()
					l.fixed, l.headers = fixed, headers
					c := clientOver(t, slow(l, rand.New(rand.NewPCG(1, 2))), nil)
					const calls = 1000
					elapsed := heavyCalls(t, c, calls, nil)
					minimum := calls / 30 * time.Minute
					t.Logf("%d calls in %v, %.3f of the limit's minimum of 2000 s", calls, elapsed, elapsed.Seconds()/2000)
					if l.refused > 0 || l.served != calls {
						t.Errorf("%d refused, %d served", l.refused, l.served)
					}
					if elapsed < minimum-time.Minute || elapsed > 2100*time.Second {
						t.Errorf("took %v", elapsed)
					}
				})
			})
		}
	}
}

func TestALoweredLimitIsLearnedAndLeft(t *testing.T) {
	for _, headers := range []bool{true, false} {
		t.Run(fmt.Sprintf("headers=%v", headers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter()
				l.headers = headers
				w := &watch{RoundTripper: slow(l, rand.New(rand.NewPCG(3, 4)))}
				c := clientOver(t, w, nil)
				var at time.Time
				heavyCalls(t, c, 400, func(done int) {
					l.mu.Lock()
					defer l.mu.Unlock()
					switch done {
					case 100:
						l.heavy, at = 5, time.Now()
					case 160:
						if since := time.Since(at); since < 9*time.Minute {
							t.Errorf("60 calls at 5 a minute took %v", since)
						}
						w.mu.Lock()
						t.Logf("%d refused while lowered, %d in flight at the first", w.refused, w.first)
						w.mu.Unlock()
						l.heavy = 30
					}
				})
				probes := 0
				if !headers {
					probes = 3 // in the dark the limit is tried after 5, 10 and 20 minutes
				}
				if w.refused > w.first+probes {
					t.Errorf("%d refused with %d in flight at the first", w.refused, w.first)
				}
				if w.early > 0 {
					t.Errorf("%d calls left before Retry-After had passed", w.early)
				}
				if left := c.Budget().Snapshot()[1].Limit; left != 30 {
					t.Errorf("the limit is still taken to be %d", left)
				}
			})
		})
	}
}

func TestARestartDoesNotBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := newLimiter(), &memoryStore{}
		for i := range 15 { // the process is killed and starts again every nine seconds
			b := NewBudget(BudgetOptions{Connection: "k", Store: store})
			c := clientOver(t, slow(l, rand.New(rand.NewPCG(5, uint64(i)))), b)
			ctx, die := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					for ctx.Err() == nil {
						_, _ = c.MeetingsPage(ctx, MeetingQuery{IncludeTranscript: true}, "")
					}
				})
			}
			time.Sleep(8700 * time.Millisecond)
			store = store.clone() // later saves are lost
			die()
			all.Wait()
		}
		if l.refused > 0 || l.served < 50 {
			t.Errorf("%d refused, %d served", l.refused, l.served)
		}
		for _, state := range []string{"{", SpentBudget} {
			store.data["bk"] = []byte(state)
			b := NewBudget(BudgetOptions{Connection: "k", Store: store})
			if err := b.Load(t.Context()); err != nil || b.Snapshot()[0].Used != 60 {
				t.Errorf("the state %s counts as %+v, %v; want it all used", state, b.Snapshot()[0], err)
			}
		}
	})
}
