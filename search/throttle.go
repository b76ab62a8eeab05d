package search

import (
	"context"
	"time"
)

// While others need the machine, a batch is of busyMeetings, and after each one
// the index pauses throttleShare times as long as it took, maxThrottle at most.
const (
	busyMeetings  = 4
	throttleShare = 3
	maxThrottle   = 2 * time.Second
)

// batchSize is how many meetings are indexed in one step.
func (x *Index) batchSize() int {
	if x.busy() {
		return busyMeetings
	}
	return batchMeetings
}

// throttle pauses after a step that took so long, when others need the machine.
func (x *Index) throttle(ctx context.Context, elapsed time.Duration) {
	if !x.busy() {
		return
	}
	t := time.NewTimer(min(throttleShare*elapsed, maxThrottle))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
