package search

import (
	"context"
	"time"
)

// While others need the machine, a batch is of busyMeetings, and after each one
// the work rests restShare times as long as it took, restMost at most.
const (
	busyMeetings = 4
	restShare    = 3
	restMost     = 2 * time.Second
)

// batch is how many meetings are indexed in one step.
func (x *Index) batch() int {
	if x.busy() {
		return busyMeetings
	}
	return batchMeetings
}

// rest lets others work, if they have to, after a step that took so long.
func (x *Index) rest(ctx context.Context, took time.Duration) {
	if !x.busy() {
		return
	}
	t := time.NewTimer(min(restShare*took, restMost))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
