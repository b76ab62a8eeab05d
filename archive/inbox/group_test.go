package inbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counts has the steps that the writer took.
type counts struct{ begun, committed atomic.Int32 }

// groups opens an inbox whose writer waits at its first BEGIN until open is
// called, so that deliveries put meanwhile become a group.
func groups(t *testing.T, opts Options) (i *Inbox, open func(), steps *counts) {
	gate := make(chan struct{})
	open, steps = sync.OnceFunc(func() { close(gate) }), new(counts)
	opts.Fault = func(s Step, done bool) error {
		if s == StepBegin && !done {
			steps.begun.Add(1)
			<-gate
		}
		if s == StepCommit && done {
			steps.committed.Add(1)
		}
		return nil
	}
	i = openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), opts)
	t.Cleanup(open) // before Close, which waits for the writer
	return i, open, steps
}

// await waits until a condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for range 300_000 { // milliseconds
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("waited for five minutes")
}

// queued waits until n small writes are with the writer or before it.
func queued(t *testing.T, i *Inbox, n int) {
	t.Helper()
	await(t, func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.waiting >= int64(n)*1024
	})
}

func TestGroupsShareACommit(t *testing.T) {
	i, open, steps := groups(t, Options{})
	var wg sync.WaitGroup
	var duplicates atomic.Int32
	const n = 40
	put := func(k int) {
		// Every id comes twice, with two bodies.
		dup, err := i.Put(t.Context(), delivery("a", fmt.Sprint("msg_", k/2), fmt.Sprint(k)))
		if err != nil {
			t.Error(err)
		}
		if dup {
			duplicates.Add(1)
		}
	}
	wg.Go(func() { put(0) })
	await(t, func() bool { return steps.begun.Load() == 1 })
	for k := 1; k < n; k++ {
		wg.Go(func() { put(k) })
	}
	await(t, func() bool { return len(i.writes) == n-1 })
	if got, err := i.Pending(t.Context(), 100); err != nil || len(got) != 0 {
		t.Fatalf("pending before the commit: %d, %v", len(got), err)
	}
	open()
	wg.Wait()
	if duplicates.Load() != n/2 {
		t.Errorf("%d duplicates, want %d", duplicates.Load(), n/2)
	}
	if got := len(pendingIDs(t, i)); got != n/2 {
		t.Errorf("%d deliveries are kept, want %d", got, n/2)
	}
	if c := steps.committed.Load(); c != 2 {
		t.Errorf("%d deliveries took %d commits, want 2", n, c)
	}
}

func TestBadRowFailsAlone(t *testing.T) {
	i, open, _ := groups(t, Options{})
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for k := range errs {
		d := delivery("a", fmt.Sprint("msg_", k), "{}")
		if k == 4 {
			d.Kind = "no such kind" // the schema refuses it
		}
		wg.Go(func() { _, errs[k] = i.Put(t.Context(), d) })
	}
	queued(t, i, len(errs))
	open()
	wg.Wait()
	for k, err := range errs {
		if (err != nil) != (k == 4) {
			t.Errorf("delivery %d: %v", k, err)
		}
	}
	if got := len(pendingIDs(t, i)); got != 8 {
		t.Errorf("%d deliveries are kept, want 8", got)
	}
}

func TestRefusesWhenBehind(t *testing.T) {
	i, open, _ := groups(t, Options{MaxWaiting: 3000})
	var wg sync.WaitGroup
	for k := range 2 {
		wg.Go(func() {
			if _, err := i.Put(t.Context(), delivery("a", fmt.Sprint("msg_", k), "{}")); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, i, 2)
	if _, err := i.Put(t.Context(), delivery("a", "msg_9", "{}")); !errors.Is(err, ErrBehind) {
		t.Errorf("put beyond what may wait: %v, want ErrInboxBehind", err)
	}
	if !i.Behind(1024) || i.Behind(0) {
		t.Error("Behind does not agree with Put")
	}
	open()
	wg.Wait()
	if dup := put(t, i, delivery("a", "msg_9", "{}")); dup {
		t.Error("the refused delivery is known already")
	}
}

// Every step of a commit fails once, before and after it took effect. Whoever
// got an error was not kept, or is a duplicate the next time; whoever got none
// is there, also after reopening.
func TestFaultsOfEachStep(t *testing.T) {
	for _, step := range []Step{StepBegin, StepInsert, StepCommit} {
		for _, done := range []bool{false, true} {
			for _, times := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s done=%v times=%d", step, done, times), func(t *testing.T) {
					faultRound(t, step, done, times)
				})
			}
		}
	}
}

func faultRound(t *testing.T, step Step, done bool, times int) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	failures := new(atomic.Int32)
	i := openInbox(t, path, Options{Fault: func(s Step, d bool) error {
		if s == step && d == done && failures.Add(1) <= int32(times) {
			return errors.New("injected")
		}
		return nil
	}})
	acknowledged := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for k := range 12 {
		wg.Go(func() {
			id := fmt.Sprint("msg_", k)
			_, err := i.Put(t.Context(), delivery("a", id, largeBody(k*20)))
			mu.Lock()
			defer mu.Unlock()
			acknowledged[id] = err == nil
		})
	}
	wg.Wait()
	if failures.Load() == 0 {
		t.Fatal("the fault never happened")
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	i = openInbox(t, path, Options{})
	kept := map[string]bool{}
	for _, id := range pendingIDs(t, i) {
		kept[id] = true
	}
	for id, ok := range acknowledged {
		if ok && !kept[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
		if dup := put(t, i, delivery("a", id, "{}")); dup != kept[id] {
			t.Errorf("%s again: duplicate %v, kept %v", id, dup, kept[id])
		}
	}
	for id, body := range bodiesOf(t, i) {
		if kept[id] && body != largeBody(20*number(id)) {
			t.Errorf("%s came back with another body", id)
		}
	}
	if n := len(pendingIDs(t, i)); n != len(acknowledged) {
		t.Errorf("%d deliveries in the end, want %d", n, len(acknowledged))
	}
}

func number(id string) (n int) {
	fmt.Sscanf(id, "msg_%d", &n)
	return n
}
