package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/search"
)

// arriving is how many meetings arrive, and pause how long after one the next.
const (
	arriving = 100
	pause    = 100 * time.Millisecond
)

// arrivals measures the time from a meeting's commit to its being found, with
// whole answers asked all the while, and those answers' times.
func (h *house) arrivals(ctx context.Context) error {
	meetings, err := newResampler()
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan error, 1)
	go func() { followed <- h.index.Follow(following) }()
	var done atomic.Bool
	asked := make(chan answered, 1)
	go func() { asked <- h.askPages(ctx, &done) }()
	ended, err := profile(h.options.profile, "arrivals")
	if err != nil {
		return err
	}
	var times []time.Duration
	first := time.Now().UnixMilli() // numbers that no run before has used
	for i := range arriving {
		elapsed, err := h.arrive(ctx, meetings, int(first)+i)
		if err != nil {
			return err
		}
		times = append(times, elapsed)
		time.Sleep(pause)
	}
	ended()
	done.Store(true)
	during := <-asked
	stop()
	fmt.Printf("%d arrivals: from commit to found p50 %.1f, p99 %.1f; whole answers meanwhile p50 %.1f, p99 %.1f of %d\n", arriving,
		at(times, 0.5), at(times, 0.99), at(during.times, 0.5), at(during.times, 0.99), len(during.times))
	if during.err != nil {
		return during.err
	}
	return <-followed
}

// askPages asks whole answers, one after another with a short pause, until done.
func (h *house) askPages(ctx context.Context, done *atomic.Bool) (a answered) {
	for _, c := range h.classes {
		if c.name != wholeAnswer {
			continue
		}
		for i := 0; !done.Load(); i++ {
			if a.err = h.ask(ctx, &a, c.queries[i%len(c.queries)], everyone, true); a.err != nil {
				return a
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return a
}

// arrive applies a meeting and returns how long after its commit it is found.
func (h *house) arrive(ctx context.Context, meetings *corpus.Resampler, number int) (time.Duration, error) {
	ob, _, err := meetings.Observation(number)
	if err != nil {
		return 0, err
	}
	if _, err := h.archive.Apply(ctx, []archive.Observation{ob}); err != nil {
		return 0, err
	}
	begin := time.Now()
	for time.Since(begin) < time.Minute {
		answer, err := h.index.Search(ctx, search.Request{Query: fmt.Sprintf("id:%d", ob.RecordingID), Viewer: everyone})
		if err != nil {
			return 0, err
		}
		if answer.Total == 1 {
			return time.Since(begin), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("meeting %d is not found a minute after it was applied", ob.RecordingID)
}
