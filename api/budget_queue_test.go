package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

// spend takes n slots of a class and answers them at once.
func spend(t *testing.T, b *Budget, n int, class Class) {
	t.Helper()
	for range n {
		s, err := b.acquire(t.Context(), time.Now(), ClassGlobal, class)
		if err != nil {
			t.Fatal(err)
		}
		b.finish(t.Context(), s, 200, nil)
	}
}

func TestWaitingCallsGoByPriorityAndNoneStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{})
		for range 30 { // so that slots come free one by one
			spend(t, b, 1, ClassHeavy)
			time.Sleep(time.Second)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		ask := func(name string, p Priority) {
			all.Go(func() {
				s, err := b.acquire(WithPriority(t.Context(), p), time.Now(), ClassGlobal, ClassHeavy)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				b.finish(t.Context(), s, 200, nil)
			})
			synctest.Wait()
		}
		ask("night", PriorityNight)
		ask("person", PriorityPerson)
		ask("follow-up", PriorityFollowUp)
		ask("download", PriorityDownload)
		all.Wait()
		if want := []string{"download", "follow-up", "person", "night"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
		order = nil
		ask("old night", PriorityNight)
		start, nightAt := time.Now(), time.Duration(0)
		for nightAt == 0 && time.Since(start) < time.Hour {
			for range 40 { // more of the urgent than there is room for
				ask("urgent", PriorityDownload)
			}
			time.Sleep(time.Minute)
			mu.Lock()
			if slices.Contains(order, "old night") {
				nightAt = time.Since(start)
			}
			mu.Unlock()
		}
		if nightAt == 0 || nightAt > 30*time.Minute {
			t.Errorf("the night's call was served after %v", nightAt)
		}
		all.Wait()
	})
}

func TestALightCallPassesAHeavyOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{})
		spend(t, b, 30, ClassHeavy)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := b.acquire(WithPriority(ctx, PriorityDownload), time.Now(), ClassGlobal, ClassHeavy); err == nil {
				t.Error("a heavy call was let through")
			}
		})
		synctest.Wait()
		start := time.Now()
		spend(t, b, 29, ClassDownload)
		if time.Since(start) > 0 {
			t.Error("light calls waited behind a heavy one")
		}
		u := b.Snapshot()
		if u[0].Used != 59 || u[1].Waiting != 1 || u[1].Reset.Sub(start) != windowLength+windowMargin {
			t.Errorf("snapshot %+v", u)
		}
		cancel()
		all.Wait()
		if u := b.Snapshot(); u[1].Waiting != 0 || u[1].InFlight != 0 || u[0].InFlight != 0 {
			t.Errorf("a call that gave up left %+v", u)
		}
	})
}

func TestCallsOfAnotherProgramCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		h := func(w http.ResponseWriter, r *http.Request) {
			l.mu.Lock()
			for len(l.calls[ClassHeavy]) < 20 && l.served == 0 { // made by another program just before
				l.calls[ClassHeavy] = append(l.calls[ClassHeavy], time.Now())
			}
			l.mu.Unlock()
			l.ServeHTTP(w, r)
		}
		c := clientOver(t, &loopback.Transport{Handler: http.HandlerFunc(h)}, nil)
		start := time.Now()
		for range 30 {
			if _, err := c.MeetingsPage(t.Context(), MeetingQuery{IncludeTranscript: true}, ""); err != nil {
				t.Fatal(err)
			}
		}
		if l.refused > 0 || time.Since(start) < time.Minute || time.Since(start) > 70*time.Second {
			t.Errorf("%d refused, 30 calls took %v", l.refused, time.Since(start))
		}
	})
}

// Slots come free while an answer is on its way: its count, of an earlier moment, must
// not pass for another program's calls.
func TestAloneItSeesNoOtherProgram(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			l.fixed = fixed
			c := clientOver(t, slow(l, rand.New(rand.NewPCG(7, 8))), nil)
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					pause := rand.New(rand.NewPCG(9, uint64(i)))
					for range 60 {
						if _, err := c.MeetingsPage(t.Context(), MeetingQuery{IncludeTranscript: true}, ""); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Duration(pause.Int64N(int64(15 * time.Second))))
						for _, u := range c.Budget().Snapshot() {
							if u.Foreign > 0 {
								t.Errorf("fixed %v: %d calls of class %s are taken for another program's", fixed, u.Foreign, u.Class)
							}
						}
					}
				})
			}
			all.Wait()
			if l.refused > 0 {
				t.Errorf("%d refused", l.refused)
			}
		})
	}
}

func TestANewBudgetKnowsNothingAndALoadedOneWhatWasUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{}
		b := NewBudget(BudgetOptions{Connection: "k", Store: store})
		spend(t, b, 7, ClassDownload)
		b.windows[ClassDownload].setLimit(5, time.Now(), time.Now())
		b.windows[ClassGlobal].block(time.Now().Add(20 * time.Second))
		spendLater := NewBudget(BudgetOptions{Connection: "k", Store: store})
		if _, err := b.acquire(cancelled(t), time.Now(), ClassGlobal); err == nil {
			t.Fatal("a blocked budget let a call through")
		}
		b.changes++
		if err := b.save(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := spendLater.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(spendLater.Snapshot()), fmt.Sprint(b.Snapshot()); got != want {
			t.Errorf("loaded %s\nwant   %s", got, want)
		}
		time.Sleep(2 * time.Minute)
		if u := spendLater.Snapshot(); u[0].Used != 0 || !u[0].Blocked.IsZero() || u[2].Limit != 5 {
			t.Errorf("two minutes later %+v", u)
		}
	})
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
