package api

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
	"unsafe"

	"minutebook/internal/loopback"
)

// setClock returns t as a machine reads it whose clock was set by d: with the same
// monotonic reading. Only a machine can do that otherwise.
func setClock(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << 30
	return t
}

// The stored budget is for a restart under the clock as it is then: times from before the
// clock was set move along with it.
func TestTheClockIsSetBetweenAnAnswerAndTheKeeping(t *testing.T) {
	for _, before := range []time.Duration{10 * 365 * 24 * time.Hour, time.Hour, -time.Hour, -10 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			t.Parallel() // not in a bubble, whose times have no monotonic reading
			store, sent, offset := &memoryStore{}, 0, before
			open := func() *Client {
				b := NewBudget(BudgetOptions{Connection: "k", Store: store, Now: func() time.Time { return setClock(time.Now(), offset) }})
				return clientOver(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if sent++; sent == 1 {
						w.Header().Set("Retry-After", "0.1")
						w.WriteHeader(http.StatusTooManyRequests)
						return
					}
					fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
				})}, b)
			}
			check := func(c *Client) {
				if err := c.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			c := open()
			for range 3 {
				check(c)
			}
			offset = 0
			check(c)
			c = open()
			if err := c.Budget().Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if u := c.Budget().Snapshot()[0]; u.Used != 5 || !u.Blocked.IsZero() {
				t.Fatalf("of 5 calls %d count after the restart, and none may leave before %v", u.Used, u.Blocked)
			}
			check(c)
		})
	}
}

// The clock may be set forward while no process runs, as when a machine starts: the calls of
// the last minute count by the machine's uptime.
func TestTheClockIsSetForwardBetweenTwoProcesses(t *testing.T) {
	for _, c := range []struct {
		name   string
		uptime time.Duration // at the start of the second process; the first ends at an hour
		used   int
	}{
		{"the same start of the machine", time.Hour + 3*time.Second, 3},
		{"long after", time.Hour + 2*time.Minute, 0},
		{"another start", 20 * time.Second, 3},
		{"another start, long ago", 2 * time.Minute, 0},
		{"unknown", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, now, uptime := &memoryStore{}, time.Now(), time.Hour
			open := func() *Budget {
				return NewBudget(BudgetOptions{Connection: "k", Store: store, Now: func() time.Time { return now }, Uptime: func() time.Duration { return uptime }})
			}
			client := clientOver(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"items":[],"next_cursor":null}`)
			})}, open())
			for range 3 {
				if err := client.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			now, uptime = now.AddDate(0, 0, 40), c.uptime
			b := open()
			if err := b.Load(t.Context()); err != nil || b.Snapshot()[0].Used != c.used {
				t.Errorf("%d calls count, %v; want %d", b.Snapshot()[0].Used, err, c.used)
			}
		})
	}
}

// No call goes out before a Retry-After is over either, and no higher limit is tried.
func TestTheClockIsSetForwardWhileTheServiceRefusesCalls(t *testing.T) {
	const wait, minutes = "7200", 2 * 60
	for _, c := range []struct {
		name    string
		uptime  time.Duration // at the start of the second process; the first ends at an hour
		blocked time.Duration
		limit   int
	}{
		{"the same start of the machine", time.Hour + 3*time.Second, minutes*time.Minute - 3*time.Second, 5},
		{"a lowered limit is tried again", time.Hour + 31*time.Minute, (minutes - 31) * time.Minute, 6},
		{"long after", 4 * time.Hour, 0, 30},
		{"another start", 20 * time.Second, minutes*time.Minute - 20*time.Second, 5},
		{"another start, long ago", 3 * time.Hour, 0, 30},
		{"unknown", 0, 0, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, now, uptime := &memoryStore{}, time.Now(), time.Hour
			open := func() *Budget {
				return NewBudget(BudgetOptions{Connection: "k", Store: store, Now: func() time.Time { return now }, Uptime: func() time.Duration { return uptime }, Rand: func() float64 { return 0 }})
			}
			ctx, cancel := context.WithCancel(t.Context())
			client := clientOver(t, &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", wait)
				w.Header().Set("RateLimit-Limit", "5")
				w.WriteHeader(http.StatusTooManyRequests)
				cancel() // the program stops, and does not wait
			})}, open())
			client.Transcript(ctx, 1)
			now, uptime = now.AddDate(0, 0, 40), c.uptime
			b := open()
			if err := b.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			all, heavy := b.Snapshot()[0], b.Snapshot()[1]
			if blocked := max(all.Blocked.Sub(now), 0); (blocked-c.blocked).Abs() > time.Second || heavy.Limit != c.limit {
				t.Errorf("no call before %v with a limit of %d; want %v and %d", blocked, heavy.Limit, c.blocked, c.limit)
			}
		})
	}
}
