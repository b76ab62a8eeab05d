package search

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/testrun"
)

func TestRest(t *testing.T) {
	for _, c := range []struct {
		name    string
		busy    bool
		ends    bool // before the rest is over
		elapsed time.Duration
		want    time.Duration
	}{
		{"nobody else works", false, false, time.Second, 0},
		{"others work", true, false, 100 * time.Millisecond, 300 * time.Millisecond},
		{"after a long step", true, false, time.Minute, maxThrottle},
		{"when it is to end", true, true, time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := &Index{busy: func() bool { return c.busy }}
			ctx, cancel := context.WithCancel(context.Background()) // of the bubble, whose time it is
			defer cancel()
			if c.ends {
				cancel()
			}
			before := time.Now()
			x.throttle(ctx, c.elapsed)
			if got := time.Since(before); got != c.want {
				t.Errorf("%s: it rests for %v, want %v", c.name, got, c.want)
			}
		})
	}
}

// While others work the index is built and followed in steps of a few meetings,
// and is the same in the end.
func TestIndexingInSmallSteps(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	var asked atomic.Int64 // reading and writing ask side by side
	h.index.busy = func() bool { asked.Add(1); return true }
	var raws [][]byte
	for id := range int64(3*busyMeetings + 1) {
		raws = append(raws, meeting(id+1, fmt.Sprint("Weekly ", id), "en", day(1), []utterance{{1, "Anna", "we said hello"}}, nil))
	}
	h.add(raws[:2*busyMeetings]...)
	h.catchUp()
	built := asked.Load()
	h.add(raws...)
	h.catchUp()
	if got := h.search(Request{Query: "hello", Limit: 100}); got.Total != len(raws) {
		t.Errorf("%d meetings are found, want %d", got.Total, len(raws))
	}
	// It asks before a step and after it: for the first eight two full steps and an
	// empty one of the walk, and two for the changes since; for the other five two.
	if followed := asked.Load() - built; built != 10 || followed != 4 {
		t.Errorf("it asked %d times while building and %d while following, want 10 and 4", built, followed)
	}
}
