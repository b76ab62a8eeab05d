package years

import (
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/testrun"
)

// TestTheClockIsSet sets the clock on the wall, and no monotonic reading with it.
func TestTheClockIsSet(t *testing.T) {
	testrun.SkipUnderRace(t) // as all of this package, which would be linked for it alone
	synctest.Test(t, func(t *testing.T) {
		for _, step := range []time.Duration{-40 * 24 * time.Hour, -time.Second, 0, 5 * time.Second, 40 * 24 * time.Hour} {
			w := &world{}
			before := w.now()
			w.skew.Store(int64(step))
			time.Sleep(1500 * time.Millisecond)
			if got := w.now().Sub(before); got != 1500*time.Millisecond {
				t.Errorf("a step of %v moves the monotonic reading: %v", step, got)
			}
			if got := w.now().Round(0).Sub(before.Round(0)); got != step+1500*time.Millisecond {
				t.Errorf("a step of %v moves the wall clock by %v", step, got)
			}
		}
	})
}
