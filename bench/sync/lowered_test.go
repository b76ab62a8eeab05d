package sync_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// readers is how many heavy pages of a backfill are read at a time.
const readers = 6

// moment is when the limit is lowered, by how many heavy calls are in flight.
type moment struct {
	name             string
	minimum, maximum int
	// all: every reader has a call in flight. Those that the service has not counted
	// yet are refused; the others go on to one refusal each at most. So there are no
	// more than were in flight. At another moment no client can promise that: where
	// none is in flight, the next one is refused all the same, and until the answer
	// to the first refused call has come nothing tells of the lower limit, since
	// heavy answers are all that does and the window is over it. At every
	// moment no more are refused than are in flight when the first refusal
	// comes, and none that is sent after it.
	all bool
}

func moments() []moment {
	return []moment{
		{name: "all readers in flight", minimum: readers, maximum: readers, all: true},
		{name: "a burst beginning", minimum: 3, maximum: 3},
		{name: "none in flight"},
	}
}

// TestFigureLoweredLimit lowers the heavy limit from 30 to 5 in the middle of a
// backfill, and later raises it again.
func TestFigureLoweredLimit(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, window := range []service.Window{service.WindowFixed, service.WindowSliding} {
		for _, m := range moments() {
			if !isFull() && !m.all && window == service.WindowFixed {
				continue // the figures' own run has them all
			}
			t.Run(fmt.Sprintf("%s, %s", window, m.name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { lowered(t, window, m) })
			})
		}
	}
}

func lowered(t *testing.T, window service.Window, m moment) {
	meetings := size(3_000, 1_300)
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Window: window}, rig.Meetings(meetings, now.Add(-24*time.Hour), 2*time.Hour))
	u.Wire.Delay = heavyPages(11)
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s := openSyncer(t, u, ar, u.Client(t, ar), false)
	ctx, done := context.WithCancel(t.Context())
	flying := make(chan int, 1)
	go func() { flying <- lowerAt(ctx, t, u, m) }()
	start := time.Now()
	if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	done()
	if elapsed := time.Since(start); elapsed < lowFor() {
		t.Errorf("the lower limit was not felt: all was read in %v", elapsed)
	}
	counts, err := ar.Counts(t.Context())
	if err != nil || counts.WithTranscript != meetings {
		t.Fatalf("not complete: %+v, %v", counts, err)
	}
	atLowering, r := <-flying, refusals(u)
	t.Logf("heavy limit lowered to 5, %s window, %s: %d calls in flight then, %d when the first refusal came, %d answers 429, %d of them to calls sent after it; %d meetings complete",
		window, m.name, atLowering, r.flying, r.all, r.late, meetings)
	if r.late > 0 || r.all > r.flying {
		t.Errorf("%d answers 429 with %d calls in flight at the first; %d calls were sent after it", r.all, r.flying, r.late)
	}
	if m.all && r.all > atLowering {
		t.Errorf("%d answers 429 with %d calls in flight when the limit was lowered", r.all, atLowering)
	}
}

// lowerAt lowers the heavy limit after a minute, at the first moment that is as
// asked for, raises it again minutes later and returns how many heavy calls were
// in flight when it was lowered.
func lowerAt(ctx context.Context, t *testing.T, u *rig.Upstream, m moment) int {
	time.Sleep(time.Minute)
	for ctx.Err() == nil {
		n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy && c.Answered.IsZero() })
		if n < m.minimum || n > m.maximum {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		set(t, u, service.Limits{Elevated: true})
		time.AfterFunc(lowFor(), func() { set(t, u, service.Limits{}) })
		return n
	}
	t.Errorf("there was no moment with %d to %d calls in flight", m.minimum, m.maximum)
	return 0
}

// lowFor is how long the limit stays low.
func lowFor() time.Duration { return time.Duration(size(20, 8)) * time.Minute }

func set(t *testing.T, u *rig.Upstream, l service.Limits) {
	if err := u.Service.SetLimits(context.Background(), l); err != nil {
		t.Error(err)
	}
}

// refused counts the answers to heavy calls under a limit that was lowered.
type refused struct {
	all    int // answers 429
	flying int // calls in flight when the first of them came
	late   int // answers 429 to calls sent after it
}

func refusals(u *rig.Upstream) (r refused) {
	var first time.Time
	for _, c := range u.Wire.Calls() {
		if is429(c) && (first.IsZero() || c.Answered.Before(first)) {
			first = c.Answered
		}
	}
	for _, c := range u.Wire.Calls() {
		if c.Heavy && !c.At.After(first) && !c.Answered.Before(first) {
			r.flying++
		}
		if is429(c) {
			r.all++
			if c.At.After(first) {
				r.late++
			}
		}
	}
	return r
}
