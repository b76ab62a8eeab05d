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
	r := newRelay(s.Service)
	const ahead = 10 * 365 * 24 * time.Hour
	for _, step := range []time.Duration{ahead, -ahead} {
		s.clock.add(step)
		arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(1))
		since, err := r.accountSince(t.Context(), "anns")
		if err != nil || !since.Equal(s.clock.Now()) {
			t.Errorf("at %v the account's lists are read since %v, %v", s.clock.Now(), since, err)
		}
	}
}
