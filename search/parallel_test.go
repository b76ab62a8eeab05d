package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"minutebook/internal/testrun"
	"minutebook/search/segment"
)

// emptySnapshot is a snapshot of no index that works on so many goroutines.
func emptySnapshot(ctx context.Context, workers int) *snapshot {
	return &snapshot{ctx: ctx, x: &Index{workers: workers, log: zerolog.Nop()}}
}

// TestParallel calls for each number once, ends with the first error, the context
// or a panic.
func TestParallel(t *testing.T) {
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			v := emptySnapshot(t.Context(), workers)
			for _, n := range []int{0, 1, 2, 100} {
				calls := make([]int, n)
				if err := v.parallel(n, func(i int) error { calls[i]++; return nil }); err != nil {
					t.Fatal(err)
				}
				for i, c := range calls {
					if c != 1 {
						t.Errorf("%d of %d was called for %d times", i, n, c)
					}
				}
			}
			const n = 10_000
			bad := errors.New("bad")
			var called atomic.Int64
			err := v.parallel(n, func(i int) error {
				if called.Add(1); i == 3 {
					return bad
				}
				return nil
			})
			if !errors.Is(err, bad) || called.Load() == n {
				t.Errorf("after an error: %v, %d calls", err, called.Load())
			}
			err = v.parallel(10, func(i int) error {
				if i == 5 {
					panic("broken")
				}
				return nil
			})
			if !errors.Is(err, segment.ErrDamaged) || !strings.Contains(err.Error(), "broken") {
				t.Errorf("a panic became %v", err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			called.Store(0)
			err = emptySnapshot(ctx, workers).parallel(n, func(i int) error {
				if called.Add(1) == 10 {
					stop()
				}
				return nil
			})
			if !errors.Is(err, context.Canceled) || called.Load() == n {
				t.Errorf("after the context's end: %v, %d calls", err, called.Load())
			}
		})
	}
}

// TestSideBySideIsOneByOne checks that an index of several segments, some of
// their documents deleted, some in memory and some on disk, answers the same on
// one goroutine as on many.
func TestSideBySideIsOneByOne(t *testing.T) {
	testrun.SkipUnderRace(t)
	queries := []string{"", "budget", "budget contract", "the", `"budget contract"`, `"the budget friday"`, "market*", "speaker:anna renew", `speaker:anna "budget contract"`,
		"in:summary page", "-release", "contract OR friday", "sort:date budget", "anna", "objection", "What did we say about the printing contract?", "title:numbers", "budgt~"}
	rapid.Check(t, func(rt *rapid.T) {
		h := newFixture(t)
		for range rapid.IntRange(3, 7).Draw(rt, "batches") {
			var batch [][]byte
			for range rapid.IntRange(1, 4).Draw(rt, "meetings") {
				batch = append(batch, drawMeeting(rt, int64(rapid.IntRange(1, 12).Draw(rt, "id"))))
			}
			h.add(batch...)
			h.catchUp()
		}
		if rapid.Bool().Draw(rt, "restart") {
			h.close()
			h.open()
		}
		for _, q := range queries {
			h.index.workers = 1
			want := listAnswers(rt, h.index, q)
			h.index.workers = 8
			if diff := cmp.Diff(want, listAnswers(rt, h.index, q)); diff != "" {
				rt.Fatalf("%q: one by one (-) and side by side (+) differ:\n%s", q, diff)
			}
		}
	})
}
