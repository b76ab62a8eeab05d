package service

import (
	"testing"
	"time"

	"minutebook/archive"
)

// A list that was first read while the clock was ahead keeps the account's reads
// from firing webhooks only until it is read by a clock that is right.
func TestAListFirstReadByAClockThatWasAhead(t *testing.T) {
	s, a := newOverlay(t)
	s.annsHook()
	const ahead = 10 * 365 * 24 * time.Hour
	for i, step := range []time.Duration{ahead, -ahead} {
		s.clock.add(step)
		arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(1+i))
		s.caughtUp(t)
	}
	if got := s.queued(); got != "2" {
		t.Errorf("sent %q, want 2", got)
	}
}
